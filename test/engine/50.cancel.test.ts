/** A cancelled request ends within one step, once, in whatever state it is, and gives everything back. */
import { story } from '../helpers/goldens.js'
import { blockBytes, endless, TestEngine, type Running } from '../helpers/native-engine.js'

let engine: TestEngine
const open = async (options: Parameters<typeof TestEngine.load>[0] = {}): Promise<void> => {
  engine = await TestEngine.load(options)
}
afterEach(async () => {
  engine.native.check()
  await engine.close()
})

async function expectCancelled(running: Running, outputTokens: number): Promise<void> {
  expect(await running.finish).toMatchObject({
    reason: 'cancelled',
    code: '',
    message: '',
    outputTokens,
    logits: null,
  })
  expect(running.tokens).toHaveLength(outputTokens)
  expect(running.finishes).toHaveLength(1)
}

test('at every token index', async () => {
  await open()
  const { blocksFree } = engine.native.report()
  for (let index = 1; index <= 60; index++) {
    const session = engine.native.createSession()
    const running = engine.start(session, { maxNewTokens: 100, credits: index })
    await running.produced(index)
    engine.native.cancel(running.id)
    engine.native.cancel(running.id)
    expect(engine.native.report()).toMatchObject({ running: 0, waiting: 0 })
    await expectCancelled(running, index)
    expect(running.tokens).toEqual(story.slice(1, index + 1))
    await engine.native.disposeSession(session)
    expect(engine.native.report().blocksFree).toBe(blocksFree)
  }
})

test('at any moment of a running stream', async () => {
  await open({ testing: { stepMicroseconds: 200 } })
  const session = engine.native.createSession()
  for (let index = 0; index < 60; index++) {
    // Fewer credits than tokens: however late the cancel comes, the request still runs.
    const running = engine.start(session, { maxNewTokens: 100, credits: 90 })
    await running.produced(index % 7)
    engine.native.cancel(running.id)
    expect(engine.native.report()).toMatchObject({ running: 0, waiting: 0 })
    const { reason, outputTokens } = await running.finish
    expect(reason).toBe('cancelled')
    expect(running.tokens).toEqual(story.slice(1, outputTokens + 1))
  }
  // What the interrupted steps left in the session's KV is sound.
  const { tokens } = await engine.run(session, { maxNewTokens: 60 })
  expect(tokens).toEqual(story.slice(1, 61))
})

test('while it waits for blocks', async () => {
  engine = await TestEngine.loadEndless({ kvBytes: (endless / 16 + 2) * blockBytes() })
  const [first, second] = [engine.native.createSession(), engine.native.createSession()]
  const running = engine.start(first, { maxNewTokens: endless })
  await running.produced(1)
  // As long as the first: a short one could end before that needs its blocks, and would be admitted.
  const waiting = engine.start(second, { maxNewTokens: endless })
  expect(engine.native.report()).toMatchObject({ running: 1, waiting: 1 })
  engine.native.cancel(waiting.id)
  expect(engine.native.report()).toMatchObject({ running: 1, waiting: 0 })
  await expectCancelled(waiting, 0)
  expect(waiting.finishes[0]!.timings.admitted).toBe(0)
  await running.produced(60)
  expect(running.tokens.slice(0, 60)).toEqual(story.slice(1, 61))
  engine.native.cancel(running.id)
  expect(await running.finish).toMatchObject({ reason: 'cancelled' })
})

test.each([1, 2, 3])('in prefill chunk %i of 4', async (chunk) => {
  // Steps so slow that the cancel falls into the one it is meant for on a loaded machine too; with overlap two at a time
  // would be under way.
  await open({ maxBatchTokens: 40, overlap: false, testing: { stepMicroseconds: 150_000 } })
  const session = engine.native.createSession()
  const running = engine.start(session, { prompt: story.slice(0, 160), maxNewTokens: 10 })
  while (engine.native.report().steps < chunk);
  engine.native.cancel(running.id)
  await expectCancelled(running, 0)
  // The chunks that were computed stay with the session.
  const again = await engine.run(session, { prompt: story.slice(0, 160), maxNewTokens: 10 })
  expect(again.finishes[0]!.cachedTokens).toBe(40 * (chunk - 1))
  expect(again.tokens).toEqual(story.slice(160, 170))
})

test('while it is paused', async () => {
  await open()
  const session = engine.native.createSession()
  const never = engine.start(session, { credits: 0 })
  engine.native.cancel(never.id)
  await expectCancelled(never, 0)
  const paused = engine.start(session, { credits: 4 })
  await paused.produced(4)
  engine.native.cancel(paused.id)
  await expectCancelled(paused, 4)
})

test('after its end nothing happens', async () => {
  await open()
  const { id } = await engine.fresh()
  for (let time = 0; time < 3; time++) engine.native.cancel(id)
})

test('a turn right after a cancel, in the middle of the step, is its own', async () => {
  await open({ testing: { stepMicroseconds: 2000 } })
  const session = engine.native.createSession()
  for (let turn = 0; turn < 10; turn++) {
    // Fewer credits than tokens: it has not ended when the cancel comes.
    const first = engine.start(session, {
      prompt: story.slice(0, 30),
      maxNewTokens: 50,
      credits: 49,
    })
    await first.produced(turn % 3)
    engine.native.cancel(first.id)
    const second = engine.start(session, { prompt: story.slice(0, 25 + turn), maxNewTokens: 10 })
    await second.finish
    expect(second.tokens).toEqual(story.slice(25 + turn, 35 + turn))
    expect(second.finishes[0]!.reason).toBe('length')
  }
})

test('a thousand submits and cancels leave nothing', async () => {
  await open()
  const before = engine.native.report()
  const sessions = Array.from({ length: 10 }, () => engine.native.createSession())
  for (let index = 0; index < 1000; index++) {
    const running = engine.start(sessions[index % 10]!, { maxNewTokens: 5 })
    engine.native.cancel(running.id)
  }
  await Promise.all(sessions.map((session) => engine.native.disposeSession(session)))
  await engine.native.compact()
  expect(engine.requests).toHaveLength(1000)
  await Promise.all(engine.requests.map(({ finish }) => finish))
  for (const { finishes } of engine.requests) expect(finishes).toHaveLength(1)
  expect(engine.native.report()).toMatchObject({
    blocksFree: before.blocksFree,
    blocksInFlight: 0,
    lines: before.lines,
  })
})
