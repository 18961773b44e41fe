/** Two loops, one planning a step while the one before runs: the same tokens, and nothing left of what was too much. */
import { story } from '../helpers/goldens.js'
import { blockBytes, endless, native, TestEngine } from '../helpers/native-engine.js'
import { expectSameTurns, runLoad, type Turn } from '../helpers/random-load.js'

let engine: TestEngine

type LoadOptions = Parameters<typeof TestEngine.load>[0]

const loadOverlapping = (options: LoadOptions = {}): Promise<TestEngine> =>
  TestEngine.load({ overlap: true, ...options })

/** Nothing runs and nothing is held beyond what the load took. */
async function expectIdle(loaded: ReturnType<TestEngine['native']['report']>): Promise<void> {
  engine.native.clearPrefixCache()
  await engine.native.compact()
  engine.expectEmpty(loaded)
  const lines = (all: typeof loaded.lines) => all.map(({ peakBytes: _, ...line }) => line)
  expect(lines(engine.native.report().lines)).toEqual(lines(loaded.lines))
}

const prefix = { eviction: 'lru-2', share: 1, retentionMs: 0, correlatedUses: 0 } as const
/** AddressSanitizer is slow: fewer of the same, among which not everything need happen. */
const isSlow = native.buildInfo.sanitizer
const conversations = isSlow ? 10 : 40

const settings: [string, LoadOptions][] = [
  ['guaranteed', {}],
  ['in small chunks', { maxBatchTokens: 7, maxSequences: 5 }],
  ['with a prefix cache', { prefix }],
  ['optimistic', { admission: 'optimistic', kvBytes: 16 * blockBytes() }],
  ['optimistic, with a prefix cache', { admission: 'optimistic', prefix }],
]

test.each(settings)('a random load, %s: the same tokens, bit for bit', async (name, options) => {
  const tight = {
    kvBytes: 26 * blockBytes(),
    maxSequences: 6,
    maxBatchTokens: 48,
    testing: { checkSteps: 5 },
    ...options,
  }
  const seed = settings.findIndex(([each]) => each === name) + 1
  const turns: Turn[][] = []
  for (const overlap of [false, true]) {
    engine = await TestEngine.load({ ...tight, overlap })
    const loaded = engine.native.report()
    turns.push(await runLoad(engine, seed, conversations))
    const { overlapped, steps } = engine.native.report()
    expect(overlapped > 0).toBe(overlap)
    expect(overlapped).toBeLessThan(steps)
    await expectIdle(loaded)
    await engine.close()
  }
  expectSameTurns(turns[1]!, turns[0]!)
  const ends = turns[1]!.map(({ finishes }) => finishes[0]!.reason)
  for (const reason of isSlow ? [] : ['eos', 'length', 'cancelled']) {
    expect(ends).toContain(reason)
  }
})

test('what a stop token ends leaves nothing of the step after it', async () => {
  const stopped = { prompt: story.slice(0, 20), maxNewTokens: 60, stopTokens: [story[40]!] }
  const seen: object[] = []
  for (const overlap of [false, true]) {
    engine = await TestEngine.load({ overlap })
    const loaded = engine.native.report()
    const session = engine.native.createSession()
    const first = await engine.run(session, stopped)
    // The speculative step may still be in flight: the next request comes after it.
    const held = engine.native.sessions()[0]!
    const prompt = [...stopped.prompt, ...first.tokens, 5]
    const again = await engine.run(session, { prompt, maxNewTokens: 9 })
    seen.push({
      tokens: first.tokens,
      logprobs: first.logprobs,
      ends: [first.finishes, again.finishes].map(([end]) => [
        end!.reason,
        end!.promptTokens,
        end!.cachedTokens,
        end!.outputTokens,
      ]),
      held: [held.tokens, held.blocks],
      next: again.tokens,
    })
    await engine.native.disposeSession(session)
    await expectIdle(loaded)
    await engine.close()
  }
  expect(seen[1]).toEqual(seen[0])
  expect(seen[0]).toMatchObject({ ends: [['eos', 20, 0, expect.anything()], expect.anything()] })
})

test('a cancel while two steps are in flight ends the request once and gives its blocks back', async () => {
  engine = await TestEngine.loadEndless({ overlap: true, kvBytes: 700 * blockBytes() })
  const loaded = engine.native.report()
  const session = engine.native.createSession()
  const running = engine.start(session, { maxNewTokens: endless - 1 })
  await running.produced(3)
  engine.native.cancel(running.id)
  engine.native.cancel(running.id)
  const reusable = engine.native.disposeSession(session)
  expect(engine.sessionBytes(session)).toBe(0)
  await reusable
  expect(running.finishes.map(({ reason }) => reason)).toEqual(['cancelled'])
  expect(running.tokens).toEqual(story.slice(1, 1 + running.tokens.length))
  expect(engine.native.report().overlapped).toBeGreaterThan(0)
  await expectIdle(loaded)
  await engine.close()
})

test.each([2, 3, 4])('step %i fails while another is in flight: one end each', async (failStep) => {
  engine = await loadOverlapping({ testing: { failStep } })
  // Without credits there is no step, and no failure before all three are there.
  const runs = [40, 50, 60].map((maxNewTokens) =>
    engine.start(engine.native.createSession(), { maxNewTokens, credits: 0 }),
  )
  for (const { id } of runs) engine.native.grant(id, 60)
  await Promise.all(runs.map(({ finish }) => finish))
  for (const { finishes } of runs) {
    expect(finishes).toMatchObject([{ reason: 'failed', code: 'OCTAVO_DEVICE_FAILED' }])
  }
  expect(engine.native.report()).toMatchObject({ running: 0, waiting: 0, blocksInFlight: 0 })
  engine.native.check()
  await engine.close()
})

test('an engine is disposed with two steps in flight', async () => {
  engine = await TestEngine.loadEndless({ overlap: true, kvBytes: 2000 * blockBytes() })
  const runs = [1, 2, 3].map(() =>
    engine.start(engine.native.createSession(), { maxNewTokens: endless - 1 }),
  )
  await Promise.all(runs.map((running) => running.produced(2)))
  await engine.close()
  for (const { finishes } of runs) expect(finishes).toMatchObject([{ reason: 'cancelled' }])
})

test('the audit waits for what is in flight, and plan, ledger and device agree', async () => {
  engine = await TestEngine.loadEndless({ overlap: true, kvBytes: 700 * blockBytes() })
  const running = engine.start(engine.native.createSession(), { maxNewTokens: endless - 1 })
  for (let count = 1; count < 5; count++) {
    await running.produced(count)
    const { regions, residualBytes } = engine.native.audit()
    for (const { heldBytes, ledgerBytes } of Object.values(regions)) {
      expect(heldBytes).toBe(ledgerBytes)
    }
    expect(residualBytes).toBe(0)
  }
  await engine.close()
})

test('uploads and samples are held twice, in the plan and in the ledger, to the byte', async () => {
  const held: Record<string, number>[] = []
  for (const overlap of [false, true]) {
    engine = await TestEngine.load({ overlap })
    const { lines, regions } = engine.native.report()
    const pinned = lines.filter(({ region }) => region === 'pinned')
    const planned = engine.native
      .plan({ contextTokens: 0, sessions: 1 })
      .items.filter(({ region }) => region === 'pinned')
    const named = ({ tag, bytes }: { tag: string; bytes: number }): [string, number] => [tag, bytes]
    expect(pinned.map(named).sort()).toEqual(planned.map(named).sort())
    expect(regions).toBeDefined()
    held.push(Object.fromEntries(planned.map(named)))
    await engine.close()
  }
  expect(Object.keys(held[1]!)).toEqual(Object.keys(held[0]!))
  for (const tag of ['batch.upload', 'sampling']) {
    expect(held[1]![tag]).toBeGreaterThan(held[0]![tag]!)
  }
  expect(held[1]!['scores']).toBe(held[0]!['scores'])
})
