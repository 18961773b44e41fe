/** A generation whose caller names no number of tokens is not refused for want of room for so many. */
import { Engine } from '../../../lib/index.js'

const prompt = Array.from({ length: 40 }, (_, index) => 300 + index)
const options = { ignoreEos: true, temperature: 1, seed: 3 }

let engine: Engine
beforeAll(async () => {
  const { kv } = (await Engine.plan(undefined, { device: 'cpu' })) as { kv: { blockBytes: number } }
  const sizes = { memory: { kv: 5 * kv.blockBytes } }
  engine = await Engine.load(undefined, { device: 'cpu', ...sizes })
})
afterAll(() => {
  engine.dispose()
})

test('in a small KV cache it ends where that is full', async () => {
  const { blocks, blockSize } = engine.plan().kv
  expect(blocks * blockSize).toBeLessThan(prompt.length + 512)
  using session = engine.createSession()
  const { usage, finishReason } = await session.generate(prompt, options).result
  expect([usage.completionTokens, finishReason]).toEqual([blocks * blockSize - 40, 'length'])
  const asked = session.generate(prompt, { ...options, maxNewTokens: blocks * blockSize - 39 })
  await expect(asked.result).rejects.toMatchObject({ code: 'OCTAVO_REQUEST_TOO_LARGE' })
})

test.each([1, 2])('with a quota it ends where that is used up, by %i samples', async (n) => {
  const { blockBytes, blockSize } = engine.plan().kv
  using session = engine.createSession({ quota: { max: 4 * blockBytes } })
  const each = n === 1 ? 4 : Math.floor((4 + Math.floor(39 / blockSize)) / 2)
  for (const of of [session, session.fork()]) {
    const results = await of.generate(prompt, { ...options, n }).results
    const counts = results.map(({ usage }) => usage.completionTokens)
    expect(counts).toEqual(Array(n).fill(each * blockSize - 40))
    const asked = of.generate(prompt, { ...options, n, maxNewTokens: each * blockSize - 39 })
    await expect(asked.result).rejects.toMatchObject({ code: 'OCTAVO_QUOTA_EXCEEDED' })
    of.dispose()
  }
})

test('a prompt that does not fit is refused by the engine, with its numbers', async () => {
  using session = engine.createSession()
  const { tokens } = engine.plan().kv
  const run = session.generate(Array<number>(tokens).fill(5), options)
  await expect(run.result).rejects.toThrow(/need 6 KV blocks of 32 tokens; the whole pool has 5/)
})
