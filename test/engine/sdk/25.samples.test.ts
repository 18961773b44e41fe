/** `n` of generate: several samples of one prompt, in one stream. */
import { Engine, type Session } from '../../../lib/index.js'

let engine: Engine
let session: Session
beforeAll(async () => {
  engine = await Engine.load()
})
afterAll(() => {
  engine.dispose()
})
beforeEach(() => {
  session = engine.createSession()
})
afterEach(async () => {
  await session[Symbol.asyncDispose]()
  engine.check()
  expect(engine.memory()).toMatchObject({
    sessions: [],
    requests: { running: 0, waiting: 0 },
    kv: { usedBlocks: 0, inFlightBlocks: 0 },
  })
})

const options = { maxNewTokens: 24, temperature: 1, seed: 7 }
const prompt = 'Once upon a time there was a little girl named Lily'

test('the results are those of seed, seed + 1 and so on', async () => {
  const results = await session.generate(prompt, { ...options, n: 4 }).results
  expect(results.map(({ index }) => index)).toEqual([0, 1, 2, 3])
  for (const { index, text, usage } of results) {
    using other = engine.createSession()
    const run = other.generate(prompt, { ...options, seed: 7 + index })
    const alone = await run.result
    expect(text).toBe(alone.text)
    expect(usage.cachedTokens).toBe(index === 0 ? 0 : usage.promptTokens - 1)
  }
  expect(new Set(results.map(({ text }) => text)).size).toBeGreaterThan(1)
})

test('pieces carry the index of their sample, and make its text', async () => {
  const run = session.generate(prompt, { ...options, n: 3, maxNewTokens: 300, logprobs: 1 })
  const texts = ['', '', '']
  const tokens: number[] = [0, 0, 0]
  for await (const { index, text, logprobs } of run) {
    texts[index] += text
    tokens[index]! += logprobs!.length
  }
  const results = await run.results
  expect(results.map(({ text }) => text)).toEqual(texts)
  expect(results.map((result) => result.usage.completionTokens)).toEqual(tokens)
  expect(await run.result).toBe(results[0])
})

test('leaving the loop, or cancel, ends all of them', async () => {
  const left = session.generate(prompt, { ...options, n: 3, maxNewTokens: 400, ignoreEos: true })
  for await (const { index } of left) if (index === 2) break
  const reasons = (await left.results).map(({ finishReason }) => finishReason)
  expect(reasons).toEqual(['cancelled', 'cancelled', 'cancelled'])
  const run = session.generate(prompt, { ...options, n: 2, maxNewTokens: 400, ignoreEos: true })
  await run.next()
  await run.cancel()
  expect((await run.results).map(({ finishReason }) => finishReason)).toEqual([
    'cancelled',
    'cancelled',
  ])
})

test('an abort ends all of them with its reason', async () => {
  const controller = new AbortController()
  const { signal } = controller
  const run = session.generate(prompt, {
    ...options,
    n: 3,
    maxNewTokens: 400,
    ignoreEos: true,
    signal,
  })
  await run.next()
  const reason = new Error('enough')
  controller.abort(reason)
  await expect(run.results).rejects.toBe(reason)
  await expect(run.result).rejects.toBe(reason)
  await run.return()
})

test('a stop string ends its sample alone', async () => {
  const free = await session.generate(prompt, { ...options, n: 3 }).results
  const stop = free[1]!.text.slice(8, 14)
  const stopped = await session.generate(prompt, { ...options, n: 3, stop }).results
  stopped.forEach((result, index) => {
    const at = free[index]!.text.indexOf(stop)
    expect(result.text).toBe(at < 0 ? free[index]!.text : free[index]!.text.slice(0, at))
  })
  expect(stopped[1]!.stopString).toBe(stop)
})

test('disposing the session throws OCTAVO_DISPOSED into the stream', async () => {
  const run = session.generate(prompt, { ...options, n: 3, maxNewTokens: 400, ignoreEos: true })
  await run.next()
  session.dispose()
  await expect(run.results).rejects.toMatchObject({ code: 'OCTAVO_DISPOSED' })
})

test('n is an integer from 1 to 256', () => {
  for (const n of [0, 257, 1.5, '2' as unknown as number]) {
    expect(() => session.generate(prompt, { n })).toThrow(/n is .*from 1 to 256/)
  }
})
