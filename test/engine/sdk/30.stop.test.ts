import type { Engine, Generation } from '../../../lib/index.js'
import { expectNothingLive, golden, loadStories } from './support.js'

let engine: Engine
beforeAll(async () => {
  engine = await loadStories()
})
afterAll(() => {
  engine.check()
  engine.dispose()
  expectNothingLive()
})

/** The golden story after 'Once upon a time', as text. */
const story = (): string => engine.tokenizer!.decode(golden[0].ids.slice(5))

async function pieces(run: Generation): Promise<string[]> {
  const texts: string[] = []
  for await (const { text } of run) texts.push(text)
  return texts
}

describe('a stop string', () => {
  it.each(['Lily', 'park. One', ' a big, red', 'ball. She wanted to', 'y'])(
    'ends the text before %j, however its tokens are cut',
    async (stop) => {
      using session = engine.createSession()
      const run = session.generate('Once upon a time', { maxNewTokens: 250, stop })
      const texts = await pieces(run)
      const { text, finishReason, stopString, tokens, usage } = await run.result
      expect(text).toBe(story().slice(0, story().indexOf(stop)))
      expect(texts.join('')).toBe(text)
      expect([finishReason, stopString]).toEqual(['stop', stop])
      expect(tokens).toEqual(golden[0].ids.slice(5, 5 + tokens.length))
      expect(engine.tokenizer!.decode(tokens)).toContain(stop)
      expect(usage.completionTokens).toBe(tokens.length)
    },
  )

  it('of several, is the one that comes first', async () => {
    using session = engine.createSession()
    const stop = ['ball', 'park', 'xyz']
    const { text, stopString } = await session.generate('Once upon a time', {
      maxNewTokens: 250,
      stop,
    }).result
    expect(stopString).toBe('park')
    expect(text).toBe(story().slice(0, story().indexOf('park')))
  })

  it('that never comes changes nothing', async () => {
    using session = engine.createSession()
    const options = { maxNewTokens: 60, stop: 'Lily was happy' }
    const { tokens, finishReason, stopString } = await session.generate('Once upon a time', options)
      .result
    expect(tokens).toEqual(golden[0].ids.slice(5, 65))
    expect([finishReason, stopString]).toEqual(['length', null])
  })

  it('stops the engine as well', async () => {
    using session = engine.createSession()
    const before = engine.memory().steps
    const run = session.generate('Once upon a time', { maxNewTokens: 450, stop: ',' })
    for await (const piece of run) expect(piece.text).not.toContain(',')
    // What is not taken is not produced: at most the credits of one window ran ahead.
    expect(engine.memory().steps - before).toBeLessThan(150)
    expect(engine.memory().requests).toEqual({ running: 0, waiting: 0 })
  })
})

describe('a stop token', () => {
  it('ends the generation; its id is kept, its text is not', async () => {
    using session = engine.createSession()
    const tail = golden[0].ids.slice(5)
    const stopToken = tail[11]!
    const first = tail.indexOf(stopToken)
    const options = { maxNewTokens: 60, stopTokens: [stopToken] }
    const { tokens, text, finishReason } = await session.generate('Once upon a time', options)
      .result
    expect(tokens).toEqual(tail.slice(0, first + 1))
    expect(text).toBe(engine.tokenizer!.decode(tail.slice(0, first)))
    expect(finishReason).toBe('stop')
  })
})

describe('the end of the story', () => {
  it('is an EOS: its id is kept, its text is not, and ignoreEos goes on', async () => {
    using session = engine.createSession()
    const ended = await session.generate('Once upon a time').result
    expect(ended.finishReason).toBe('stop')
    expect(engine.model.eosTokenIds).toContain(ended.tokens.at(-1))
    expect(ended.text).toBe(engine.tokenizer!.decode(ended.tokens))
    expect(ended.text).not.toContain('<s>')

    const kept = await session.generate('Once upon a time', { keepSpecialTokens: true }).result
    expect(kept.tokens).toEqual(ended.tokens)
    expect(kept.text).toMatch(/<\/?s>$/)

    const maxNewTokens = ended.tokens.length + 3
    const further = await session.generate('Once upon a time', { maxNewTokens, ignoreEos: true })
      .result
    expect(further.tokens).toHaveLength(maxNewTokens)
    expect(further.tokens.slice(0, -3)).toEqual(ended.tokens)
  })
})
