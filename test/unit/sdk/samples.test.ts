/** The samples of one generation, with a scripted engine: one stream, an end each, one fate. */
import { fakeEngine, type FakeEngine } from '../../fakes/engine.js'
import { refusal } from '../../refusal.js'
import { creditWindow } from '../../../lib/runtime/sample.js'
import type { Generation } from '../../../lib/index.js'

let fake: FakeEngine
beforeEach(() => {
  fake = fakeEngine()
})
afterEach(() => {
  fake.engine.dispose()
  expect(fake.requests.size).toBe(0)
})

const generate = (options: object = {}): Generation =>
  fake.engine.createSession().generate('abc', { n: 3, seed: 5, ...options })

const outcomes = (run: Generation): Promise<PromiseSettledResult<unknown>[]> =>
  Promise.allSettled([run.result, run.results, run.next()])

test('are one request, whose samples the engine numbers', () => {
  const run = generate()
  void run.results
  expect(fake.native.submitted).toMatchObject([
    { id: 1, samples: 3, seed: 5n },
    { id: 2 },
    { id: 3 },
  ])
  for (const id of [1, 2, 3]) fake.native.finish(id)
})

test('a refusal is that of all of them, in result, results and stream', async () => {
  fake.native.refusal = Object.assign(new Error('busy'), { code: 'OCTAVO_SESSION_BUSY' })
  for (const { status, ...rest } of await outcomes(generate())) {
    expect({ status, ...rest }).toMatchObject({
      status: 'rejected',
      reason: refusal('OCTAVO_SESSION_BUSY'),
    })
  }
})

test('the failure of one cancels the others, and is what all say once they have ended', async () => {
  const run = generate()
  const all = outcomes(run)
  fake.native.finish(2, { reason: 'failed', code: 'OCTAVO_TIMED_OUT', message: 'late' })
  expect(fake.native.cancelled).toEqual([1, 3])
  fake.native.finish(1, { reason: 'cancelled' })
  fake.native.finish(3, { reason: 'cancelled' })
  for (const outcome of await all) {
    expect(outcome).toMatchObject({
      status: 'rejected',
      reason: refusal('OCTAVO_TIMED_OUT', 'late'),
    })
  }
})

test('a stop string cancels its sample alone', async () => {
  const run = generate({ stop: 'STOP' })
  const results = run.results
  fake.native.emit(2, [0, 5])
  expect(fake.native.cancelled).toEqual([2])
  fake.native.finish(2, { reason: 'cancelled' })
  fake.native.emit(1, [1])
  fake.native.finish(1, { outputTokens: 1 })
  fake.native.finish(3, { outputTokens: 0 })
  expect(await results).toMatchObject([
    { index: 0, text: 'b', finishReason: 'length' },
    { index: 1, text: 'a', finishReason: 'stop', stopString: 'STOP' },
    { index: 2, text: '', finishReason: 'length' },
  ])
})

test('each has a window of its own, which its own pieces give back', async () => {
  const run = generate()
  const first = run.next()
  const tokens = Array<number>(creditWindow / 4).fill(0)
  fake.native.emit(3, tokens)
  expect(await first).toMatchObject({ value: { index: 2, text: 'a' } })
  for (let taken = 1; taken < tokens.length; taken++) await run.next()
  const credits = [1, 2, 3].map((id) => fake.native.request(id).credits)
  expect(credits).toEqual([creditWindow, creditWindow, creditWindow])

  for (const id of [1, 2, 3]) fake.native.finish(id, { reason: 'cancelled' })
})

test('ends when the last has ended', async () => {
  const run = generate()
  const pieces = (async () => {
    const seen = []
    for await (const { index, tokens } of run) seen.push([index, ...tokens])
    return seen
  })()
  fake.native.emit(3, [1], { reason: 'length' })
  fake.native.emit(1, [2], { reason: 'length' })
  fake.native.emit(2, [3], { reason: 'length' })
  expect(await pieces).toEqual([
    [2, 1],
    [0, 2],
    [1, 3],
  ])
})
