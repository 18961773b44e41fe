import { setTimeout as sleep } from 'node:timers/promises'
import type { Engine } from '../../../lib/index.js'
import { expectNothingLive, golden, ledgerOf, loadStories } from './support.js'

let engine: Engine
let loaded: ReturnType<typeof ledgerOf>
beforeAll(async () => {
  engine = await loadStories({ maxSequences: 4, maxBatchTokens: 32 })
  loaded = ledgerOf(engine)
})
afterEach(() => {
  engine.check()
  expect(engine.memory().sessions).toEqual([])
})
afterAll(async () => {
  await engine.compact()
  expect(ledgerOf(engine)).toEqual(loaded)
  engine.dispose()
  expectNothingLive()
})

const prompts = ['Once upon a time', 'The little dog', 'Tom and Lily', 'One day', 'A cat', 'Ben']

const alone = async (prompt: string): Promise<number[]> => {
  await using session = engine.createSession()
  return (await session.generate(prompt, { maxNewTokens: 60 }).result).tokens
}

describe('turns of one session', () => {
  it('compute only what is new', async () => {
    await using session = engine.createSession()
    const ids = golden[0].ids
    const first = await session.generate(ids.slice(0, 50), { maxNewTokens: 10 }).result
    expect(first.usage).toMatchObject({ promptTokens: 50, cachedTokens: 0 })
    expect(first.tokens).toEqual(ids.slice(50, 60))

    const second = await session.generate(ids.slice(0, 80), { maxNewTokens: 10 }).result
    expect(second.usage.cachedTokens).toBeGreaterThanOrEqual(50)
    expect(second.usage.cachedTokens).toBeLessThanOrEqual(60)
    expect(second.tokens).toEqual(ids.slice(80, 90))
  })

  it('may leave the common beginning', async () => {
    await using session = engine.createSession()
    const start = golden[0].ids.slice(0, 70)
    await session.generate(start, { maxNewTokens: 5 }).result
    const prompt = [...start.slice(0, 40), 300, 301]
    const branched = await session.generate(prompt, { maxNewTokens: 20 }).result
    expect(branched.usage.cachedTokens).toBeLessThanOrEqual(40)
    await using fresh = engine.createSession()
    const expected = await fresh.generate(prompt, { maxNewTokens: 20 }).result
    expect(branched.tokens).toEqual(expected.tokens)
  })

  it('may repeat the same prompt', async () => {
    await using session = engine.createSession()
    const texts = []
    for (let turn = 0; turn < 3; turn++) {
      texts.push((await session.generate('The little dog', { maxNewTokens: 30 }).result).text)
    }
    expect(new Set(texts).size).toBe(1)
  })
})

describe('many sessions at once', () => {
  it('each get the tokens they get alone, more of them than run at once', async () => {
    const expected = await Promise.all(prompts.map(alone))
    const each = [...Array(24).keys()].map((i) => i % prompts.length)
    const together = await Promise.all(each.map((i) => alone(prompts[i]!)))
    each.forEach((i, place) => expect(together[place]).toEqual(expected[i]))
  })

  it('do not wait for a slow consumer', async () => {
    await using slow = engine.createSession()
    const crawl = slow.generate('Once upon a time', { maxNewTokens: 500, ignoreEos: true })
    await crawl.next()
    await sleep(50)
    const quick = await Promise.all(prompts.map(alone))
    expect(quick).toHaveLength(prompts.length)
    await crawl.return()
  })

  it('may come and go while others run', async () => {
    const expected = await alone('Tom and Lily')
    const churn = async (): Promise<void> => {
      for (let i = 0; i < 15; i++) {
        using session = engine.createSession()
        for await (const _ of session.generate(prompts[i % 6]!, { maxNewTokens: 50 })) {
          if (i % 3 === 0) break
        }
      }
    }
    const steady = Promise.all([...Array(5)].map(() => alone('Tom and Lily')))
    await Promise.all([churn(), churn()])
    for (const tokens of await steady) expect(tokens).toEqual(expected)
  })
})

test('the name of a session cannot be changed into that of another', () => {
  using session = engine.createSession()
  using other = engine.createSession()
  expect(() => Object.assign(session, { id: other.id })).toThrow(TypeError)
  expect(session.id).not.toBe(other.id)
})
