/**
 * Failing the n-th allocation, and the n-th read, for every n of load + generate + dispose: a typed refusal each
 * time, nothing left behind, and the next run as good as new. OCTAVO_SWEEP_TABLE=1 prints the n.
 */
import { story } from '../helpers/goldens.js'
import { TestEngine, type Testing } from '../helpers/native-engine.js'
import { expectNothingLive } from '../helpers/nothing-live.js'

interface Outcome {
  code: string
  message: string
  where: 'load' | 'generate'
}

const typed = /^OCTAVO_(OUT_OF_MEMORY|IO_FAILED|DEVICE_FAILED)$/

/** Load, two sessions at once, a score, dispose. The first failure, or null; throws where something is left. */
async function wholeRun(testing: Testing): Promise<Outcome | null> {
  let engine: TestEngine
  try {
    engine = await TestEngine.load({ testing, dtype: 'bf16', kvBytes: 2 ** 20 })
  } catch (error) {
    return { ...(error as Outcome), message: (error as Error).message, where: 'load' }
  }
  try {
    const sessions = [engine.native.createSession(), engine.native.createSession()]
    const runs = sessions.map((session) =>
      engine.start(session, { prompt: story.slice(0, 40), maxNewTokens: 20 }),
    )
    const score = engine.start(engine.native.createSession(), {
      prompt: story.slice(0, 30),
      maxNewTokens: 0,
      score: true,
    })
    const ends = await Promise.all([...runs, score].map(({ finish }) => finish))
    await Promise.all(sessions.map((session) => engine.native.disposeSession(session)))
    engine.native.check()
    const failed = ends.find(({ reason }) => reason === 'failed')
    return failed === undefined ? null : { ...failed, where: 'generate' }
  } finally {
    await engine.close() // throws where requests, engines or the ledger are not as they must be
  }
}

async function sweep(fault: 'failAllocation' | 'failChunk'): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  for (let n = 1; ; n++) {
    const outcome = await wholeRun({ [fault]: n })
    if (outcome === null) return outcomes
    expect({ n, code: outcome.code }).toEqual({ n, code: expect.stringMatching(typed) })
    expect(outcome.message).toMatch(/\d/)
    expectNothingLive()
    outcomes.push(outcome)
  }
}

async function expectAsNew(): Promise<void> {
  const engine = await TestEngine.load()
  const { tokens } = await engine.fresh({ maxNewTokens: 50 })
  expect(tokens).toEqual(story.slice(1, 51))
  await engine.close()
}

function tell(what: string, outcomes: Outcome[]): void {
  if (!process.env['OCTAVO_SWEEP_TABLE']) return
  const during = (where: string): number => outcomes.filter((each) => each.where === where).length
  process.stderr.write(
    `sweep: every ${what} failed once, n = ${outcomes.length} ` +
      `(${during('load')} in load, ${during('generate')} in generate)\n`,
  )
}

test('every allocation, device and pinned', async () => {
  const outcomes = await sweep('failAllocation')
  tell('allocation', outcomes)
  // weights, ring, staging, kv, rope, activations, batch (twice), sampling (twice), scores
  expect(outcomes.length).toBeGreaterThanOrEqual(11)
  const messages = outcomes.map(({ message }) => message).join('\n')
  for (const region of ['weights', 'pinned', 'workspace', 'kv', 'graph']) {
    expect(messages).toContain(`region ${region}`)
  }
  await expectAsNew()
})

test('every read of the weights', async () => {
  const outcomes = await sweep('failChunk')
  tell('read', outcomes)
  // One chunk or more for each of the 47 tensors of the file.
  expect(outcomes.length).toBeGreaterThanOrEqual(47)
  for (const [index, { code, where, message }] of outcomes.entries()) {
    expect({ code, where }).toEqual({ code: 'OCTAVO_IO_FAILED', where: 'load' })
    expect(message).toContain(`chunk ${index + 1} `)
  }
  await expectAsNew()
})
