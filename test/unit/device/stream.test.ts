/** Streams of the CPU whose work is done while the caller goes on. */
import { testing } from '../../helpers/native-testing.js'

test('work waits its turn while the caller goes on', () => {
  expect(testing.concurrentStream()).toEqual([false, false, true])
})

test('after work has failed nothing runs, and everyone who waits is told', () => {
  const sentence = 'OCTAVO_DEVICE_FAILED: work on a stream of the CPU failed: told to fail'
  expect(testing.failingStream()).toEqual([sentence, sentence, sentence, false])
})
