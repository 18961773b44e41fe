/** A target for the time between tokens, by a clock that goes on by so much a step and a token. */
import { story } from '../helpers/goldens.js'
import { endless, TestEngine, type Running } from '../helpers/native-engine.js'

let engine: TestEngine
afterEach(async () => {
  engine.native.check()
  expect(engine.native.report()).toMatchObject({ running: 0, waiting: 0, blocksInFlight: 0 })
  await engine.close()
})

const times = { fakeClock: true, fakeStepMicroseconds: 1000 }
const batch = () => engine.native.report().batch

const prompt = Array.from({ length: 300 }, (_, index) => story[index % 200]!)

/** Prompts of 300 tokens, one after the other, beside a request that generates all the while. */
async function crowd(prompts: number): Promise<Running[]> {
  const talking = engine.start(engine.native.createSession(), { maxNewTokens: endless - 1 })
  await talking.produced(1)
  const runs = Array.from({ length: prompts }, () =>
    engine.start(engine.native.createSession(), { prompt, maxNewTokens: 1 }),
  )
  await Promise.all(runs.map(({ finish }) => finish))
  engine.native.cancel(talking.id)
  await talking.finish
  const { length } = talking.tokens
  expect(talking.tokens.slice(0, 100)).toEqual(story.slice(1, 1 + Math.min(100, length)))
  return runs
}

test('steps with decodes have as many tokens of prompts as are on time', async () => {
  const testing = { ...times, fakeTokenMicroseconds: 100 }
  engine = await TestEngine.loadEndless({ testing, targetInterTokenMs: 5 })
  expect(batch()).toMatchObject({ sequences: 16, tokens: 512, late: 0 })
  const runs = await crowd(24)
  const { tokens, late, lowered, raised } = batch()
  expect(tokens).toBeLessThanOrEqual(40) // of 1 ms and 0.1 ms each
  expect(tokens).toBeGreaterThan(28)
  expect(late).toBeLessThanOrEqual(2 * lowered + 2)
  expect(raised).toBe(0)
  await engine.close()
  engine = await TestEngine.loadEndless({ testing })
  const free = await crowd(24)
  expect(batch()).toMatchObject({ sequences: 16, tokens: 512, late: 0, lowered: 0 })
  expect(runs.map((run) => run.tokens)).toEqual(free.map((run) => run.tokens))
})

/** Prompts one after the other, beside so many that generate. */
async function one(
  prompts: number,
  talkers: number,
): Promise<{ tokens: number[][]; paced: number }> {
  const talking = Array.from({ length: talkers }, () =>
    engine.start(engine.native.createSession(), { maxNewTokens: 1000 }),
  )
  await Promise.all(talking.map((run) => run.produced(1)))
  const tokens: number[][] = []
  for (let index = 0; index < prompts; index++) {
    const run = engine.start(engine.native.createSession(), { prompt, maxNewTokens: 1 })
    await run.finish
    tokens.push(run.tokens)
  }
  const paced = batch().promptTokens
  for (const run of talking) engine.native.cancel(run.id)
  await Promise.all(talking.map((run) => run.finish))
  return { tokens, paced }
}

test('without a target a prompt makes the steps of many who generate 1.8 times as long, and a cheap one is not kept small', async () => {
  engine = await TestEngine.loadEndless({ testing: { ...times, fakeTokenMicroseconds: 40 } })
  const dear = await one(4, 9)
  // 1.36 ms alone: 27 tokens of 40 µs are 80 % of that.
  expect(dear.paced).toBeGreaterThanOrEqual(16)
  expect(dear.paced).toBeLessThanOrEqual(27)
  await engine.close()
  engine = await TestEngine.loadEndless({ testing: { ...times, fakeTokenMicroseconds: 1 } })
  const cheap = await one(24, 9)
  expect(cheap.paced).toBeGreaterThanOrEqual(256)
  expect(cheap.tokens.slice(0, 4)).toEqual(dear.tokens)
})

test('a burst beside few who generate has all of a step', async () => {
  engine = await TestEngine.loadEndless({ testing: { ...times, fakeTokenMicroseconds: 40 } })
  await crowd(4)
  expect(batch().promptTokens).toBe(512)
})

test('no more begin than decode on time', async () => {
  engine = await TestEngine.load({
    testing: { ...times, fakeTokenMicroseconds: 500 },
    targetInterTokenMs: 10,
    maxSequences: 64,
    maxBatchTokens: 64,
  })
  const runs = Array.from({ length: 120 }, (_, index) =>
    engine.start(engine.native.createSession(), { maxNewTokens: 10 + ((index * 7) % 60) }),
  )
  await Promise.all(runs.map(({ finish }) => finish))
  runs.forEach(({ tokens }) => expect(tokens).toEqual(story.slice(1, 1 + tokens.length)))
  expect(batch().sequences).toBeLessThanOrEqual(18) // of 1 ms and 0.5 ms each
  expect(batch().sequences).toBeGreaterThan(12)
})

test('optimistic admission lets no more begin than are foreseen to have room', async () => {
  engine = await TestEngine.load({ admission: 'optimistic', kvBytes: 64 * 5 * 2 * 4 * 8 * 4 * 16 })
  const wave = async (): Promise<void> => {
    const runs = Array.from({ length: 24 }, () =>
      engine.start(engine.native.createSession(), { maxNewTokens: 200 }),
    )
    await Promise.all(runs.map(({ finish }) => finish))
    for (const { tokens } of runs) expect(tokens).toEqual(story.slice(1, 201))
  }
  await wave()
  const { preemptions } = engine.native.report()
  expect(preemptions).toBeGreaterThan(0)
  expect(batch()).toMatchObject({ expectedTokens: 201, memorySequences: 4, sequences: 4 }) // 64 blocks of 16
  await wave()
  expect(engine.native.report().preemptions).toBe(preemptions)
})

test('a target that is no time is refused', async () => {
  await expect(TestEngine.load({ targetInterTokenMs: -1 })).rejects.toThrow(/targetInterTokenMs/)
  engine = await TestEngine.load()
})
