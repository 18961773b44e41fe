/** An engine whose KV cache is of 8-bit codes: the same tokens however the work is cut up, and its bytes. */
import { Engine, type KvOptions } from '../../lib/index.js'
import { goldens, story } from '../helpers/goldens.js'
import { expectNothingLive } from '../helpers/nothing-live.js'

type CodeType = 'fp8_e4m3' | 'int8'

const types: CodeType[] = ['fp8_e4m3', 'int8']
const MiB = 2 ** 20
const stories = 'models/stories260k'
const load = (kv: KvOptions, options = {}) =>
  Engine.load(stories, { device: 'cpu', kv, memory: { kv: 2 * MiB }, ...options })

afterAll(expectNothingLive)

async function tell(engine: Engine, prompt: readonly number[], maxNewTokens: number) {
  await using session = engine.createSession()
  return (await session.generate([...prompt], { maxNewTokens, temperature: 0 }).result).tokens
}

/** Codes and their scales, by hand: 5 layers, K and V, 4 heads of 8. */
const tokenBytes: Record<CodeType, number> = { fp8_e4m3: 5 * 2 * 4 * 8, int8: 5 * 2 * 4 * (8 + 4) }

describe.each(types)('%s', (dtype) => {
  let expected: number[]
  beforeAll(async () => {
    await using engine = await load({ dtype, blockSize: 16 })
    expected = await tell(engine, story.slice(0, 40), 80)
    engine.check()
  })

  test('plan, report and ledger have its bytes', async () => {
    const options = {
      device: 'cpu',
      kv: { dtype, blockSize: 16 },
      memory: { kv: 2 * MiB },
    } as const
    const plan = await Engine.plan(stories, options)
    const blockBytes = 16 * tokenBytes[dtype]
    expect(plan.kv).toMatchObject({ dtype, blockBytes, tokenBytes: tokenBytes[dtype] })
    expect(plan.kv.blocks).toBe(Math.floor((2 * MiB) / blockBytes))
    await using engine = await Engine.load(stories, options)
    await using session = engine.createSession()
    await session.generate(story.slice(0, 40), { maxNewTokens: 9 }).result
    const { kv, ledger } = engine.memory()
    expect(kv.blockBytes).toBe(blockBytes)
    const held = ledger.find(({ owner, region }) => owner.kind === 'session' && region === 'kv')
    expect(held).toMatchObject({ bytes: 3 * blockBytes })
    expect(engine.plan().plannedBytes).toBe(plan.plannedBytes)
  })

  test.each([
    ['blocks of 64', { dtype, blockSize: 64 }, {}],
    ['steps of 7 tokens', { dtype, blockSize: 32 }, { maxBatchTokens: 7 }],
    ['one thread', { dtype, blockSize: 16 }, { threads: 1 }],
  ] as const)('the same tokens with %s', async (_, kv, options) => {
    await using engine = await load(kv, options)
    expect(await tell(engine, story.slice(0, 40), 80)).toEqual(expected)
    engine.check()
  })

  test('the same tokens beside other sequences, and from shared blocks', async () => {
    await using engine = await load({ dtype, blockSize: 16 }, { prefixCache: true })
    const both = [0, 1, 2].map(() => tell(engine, story.slice(0, 40), 80))
    for (const told of await Promise.all([...both, tell(engine, story.slice(5, 90), 30)]))
      expect(told.length).toBeGreaterThan(0)
    for (const told of both) expect(await told).toEqual(expected)
    expect(await tell(engine, story.slice(0, 40), 80)).toEqual(expected)
    expect(engine.memory().kv.prefix.hitTokens).toBeGreaterThan(0)
    engine.check()
  })

  test('the same tokens after blocks have moved', async () => {
    await using engine = await load({ dtype, blockSize: 16 }, { memory: { kv: 24 * MiB } })
    const others = Array.from({ length: 12 }, () => engine.createSession())
    const kept = engine.createSession()
    for (const [i, session] of others.entries()) {
      await session.generate(story.slice(0, 200), { maxNewTokens: 8 }).result
      if (i === 5) await kept.generate(story.slice(0, 40), { maxNewTokens: 1 }).result
    }
    others.filter((_, i) => i % 3 !== 0).forEach((session) => session.dispose())
    await engine.compact()
    const { tokens } = await kept.generate(story.slice(0, 40), { maxNewTokens: 80, temperature: 0 })
      .result
    expect(tokens).toEqual(expected)
    others.forEach((session) => session.dispose())
    kept.dispose()
    engine.check()
  })
})

test.each(types)('%s tells the golden stories for a while', async (dtype) => {
  await using engine = await load({ dtype })
  for (const { prompt, output } of goldens) {
    const told = await tell(engine, prompt, output.length)
    const same = told.findIndex((token, i) => token !== output[i])
    expect(same < 0 ? output.length : same).toBeGreaterThanOrEqual(14) // measured: 21 to 118
  }
})

test.each(types)('%s takes on a card what it takes on the CPU', async (dtype) => {
  const plan = (device: string) =>
    Engine.plan(stories, { device, kv: { dtype }, assume: { total: 80 * 2 ** 30 } })
  expect((await plan('cuda:0')).kv.tokenBytes).toBe((await plan('cpu')).kv.tokenBytes)
})
