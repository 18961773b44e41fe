/** A session keeps its KV: what a prompt shares with it is not computed again. */
import { goldens, story } from '../helpers/goldens.js'
import { TestEngine } from '../helpers/native-engine.js'

let engine: TestEngine
beforeEach(async () => {
  engine = await TestEngine.load()
})
afterEach(async () => {
  engine.native.check()
  await engine.close()
})

test('the next turn prefills only what is new', async () => {
  const session = engine.native.createSession()
  const first = await engine.run(session, { prompt: story.slice(0, 10), maxNewTokens: 20 })
  expect(first.tokens).toEqual(story.slice(10, 30))
  const second = await engine.run(session, { prompt: story.slice(0, 40), maxNewTokens: 20 })
  // The last token of the first turn was sampled but never computed.
  expect(second.finishes[0]).toMatchObject({ promptTokens: 40, cachedTokens: 29 })
  expect(second.tokens).toEqual(story.slice(40, 60))
})

test('the same prompt again computes one token', async () => {
  const session = engine.native.createSession()
  for (const cachedTokens of [0, 49, 49]) {
    const { tokens, finishes } = await engine.run(session, {
      prompt: story.slice(0, 50),
      maxNewTokens: 5,
    })
    expect(finishes[0]!.cachedTokens).toBe(cachedTokens)
    expect(tokens).toEqual(story.slice(50, 55))
  }
})

test.each([1, 15, 16, 17, 31, 32, 33, 47])(
  'a prompt that leaves the path after %i tokens keeps those',
  async (shared) => {
    const session = engine.native.createSession()
    await engine.run(session, { prompt: story.slice(0, 50), maxNewTokens: 10 })
    const dog = goldens[1]!
    const prompt = [...story.slice(0, shared), ...dog.prompt.slice(1), ...dog.output.slice(0, 10)]
    expect(prompt[shared]).not.toBe(story[shared])
    const turn = await engine.run(session, { prompt, maxNewTokens: 30 })
    const alone = await engine.fresh({ prompt, maxNewTokens: 30 })
    expect(turn.finishes[0]!.cachedTokens).toBe(shared)
    expect(alone.finishes[0]!.cachedTokens).toBe(0)
    expect(turn.tokens).toEqual(alone.tokens)
  },
)

test('a shorter prompt gives its surplus blocks back', async () => {
  const session = engine.native.createSession()
  const free = engine.native.report().blocksFree
  await engine.run(session, { prompt: story.slice(0, 100), maxNewTokens: 1 })
  expect(engine.native.report().blocksFree).toBe(free - 7) // 100 tokens in blocks of 16
  await engine.run(session, { prompt: story.slice(0, 20), maxNewTokens: 1 })
  expect(engine.native.report().blocksFree).toBe(free - 2)
  expect(engine.native.report().sessions).toEqual([
    {
      id: session,
      blocks: 2,
      blocksOfOthers: 0,
      bytes: 2 * engine.native.report().blockBytes,
      tokens: 20,
      state: 'idle',
      place: 0,
      parent: 0,
    },
  ])
})

test('other sessions neither see nor touch it', async () => {
  const [one, two] = [engine.native.createSession(), engine.native.createSession()]
  const dog = goldens[1]!
  await engine.run(one, { prompt: story.slice(0, 30), maxNewTokens: 4 })
  const other = await engine.run(two, { prompt: dog.prompt, maxNewTokens: 30 })
  expect(other.finishes[0]!.cachedTokens).toBe(0)
  expect(other.tokens).toEqual(dog.output.slice(0, 30))
  const back = await engine.run(one, { prompt: story.slice(0, 33), maxNewTokens: 30 })
  expect(back.finishes[0]!.cachedTokens).toBe(32)
  expect(back.tokens).toEqual(story.slice(33, 63))
})

test('the ledger names each session and its bytes', async () => {
  const sessions = [1, 2, 3].map(() => engine.native.createSession())
  await Promise.all(
    sessions.map((session, index) =>
      engine.run(session, { prompt: story.slice(0, 20 * (index + 1)), maxNewTokens: 1 }),
    ),
  )
  const { blockBytes, blocksTotal, lines, pages } = engine.native.report()
  expect(sessions.map((session) => engine.sessionBytes(session))).toEqual(
    [2, 3, 4].map((blocks) => blocks * blockBytes),
  )
  const kv = lines.filter(({ region }) => region === 'kv')
  expect(kv.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(pages.mappedBytes)
  for (const session of sessions) {
    await engine.native.disposeSession(session)
    expect(engine.sessionBytes(session)).toBe(0)
  }
  expect(engine.native.report()).toMatchObject({
    sessions: [],
    blocksFree: blocksTotal,
    blocksInFlight: 0,
  })
})

test('one request a session at a time', async () => {
  const session = engine.native.createSession()
  const running = engine.start(session, { maxNewTokens: 50, credits: 1 })
  expect(() => engine.start(session)).toThrow(
    expect.objectContaining({ code: 'OCTAVO_SESSION_BUSY' }),
  )
  engine.native.cancel(running.id)
  const next = await engine.run(session, { maxNewTokens: 20 })
  expect(next.tokens).toEqual(story.slice(1, 21))
})
