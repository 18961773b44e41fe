import { readTuneOptions } from '../../../lib/options/tune-options.js'
import { refusal } from '../../refusal.js'

it.each([
  [undefined, null],
  [false, null],
  [true, { seconds: 5, file: null }],
  [{}, { seconds: 5, file: null }],
  [{ seconds: 60 }, { seconds: 60, file: null }],
  [
    { seconds: 0.25, file: '/there/tuned.json' },
    { seconds: 0.25, file: '/there/tuned.json' },
  ],
  [
    { seconds: undefined, file: undefined },
    { seconds: 5, file: null },
  ],
])('tune: %j is read', (given, expected) => {
  expect(readTuneOptions(given)).toEqual(expected)
})

it.each([
  ['yes', 'tune is "yes"; it must be true, false or an object of options'],
  [5, 'tune is 5'],
  [null, 'tune is null'],
  [[], 'tune is an array of 0'],
  [{ seconds: 0 }, 'tune.seconds is 0; it must be a number above 0, up to 60'],
  [{ seconds: 61 }, 'tune.seconds is 61'],
  [{ seconds: NaN }, 'tune.seconds is NaN'],
  [{ seconds: '5' }, 'tune.seconds is "5"'],
  [{ file: '' }, 'tune.file is ""; it must be the path of a file'],
  [{ file: 'a\0b' }, 'tune.file is'],
  [{ file: 7 }, 'tune.file is 7'],
])('tune: %j is refused', (given, sentence) => {
  expect(() => readTuneOptions(given)).toThrow(refusal('OCTAVO_INVALID_ARGUMENT', sentence))
})

it('names an unknown option of it', () => {
  expect(() => readTuneOptions({ second: 5 })).toThrow(
    refusal('OCTAVO_UNKNOWN_OPTION', 'unknown option tune.second; did you mean tune.seconds?'),
  )
})
