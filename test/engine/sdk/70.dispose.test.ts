import type { Session } from '../../../lib/index.js'
import { refusal } from '../../refusal.js'
import { expectNothingLive, ledgerOf, loadStories, sessionBytes } from './support.js'

const long = { maxNewTokens: 500, ignoreEos: true }
const disposed = refusal('OCTAVO_DISPOSED')

afterEach(expectNothingLive)

describe('a session', () => {
  it('is gone from the ledger when dispose returns, in mid-stream too', async () => {
    await using engine = await loadStories()
    const loaded = ledgerOf(engine)
    for (let round = 0; round < 20; round++) {
      const session = engine.createSession()
      const run = session.generate('Once upon a time', long)
      for (let i = 0; i <= round; i++) await run.next()
      expect(sessionBytes(engine.memory())).toBeGreaterThan(0)
      const waiting = drain(run)
      session.dispose()
      expect(sessionBytes(engine.memory())).toBe(0)
      expect(engine.memory().sessions).toEqual([])
      await expect(waiting).rejects.toEqual(disposed)
      await session[Symbol.asyncDispose]()
      engine.check()
    }
    await engine.compact()
    expect(ledgerOf(engine)).toEqual(loaded)
  })

  it('rejects quietly what is asked of it after its end', async () => {
    const engine = await loadStories()
    engine.dispose()
    const unheard: unknown[] = []
    const hear = (reason: unknown): void => void unheard.push(reason)
    process.on('unhandledRejection', hear)
    const compacted = engine.compact()
    await new Promise((resolve) => setImmediate(resolve))
    process.off('unhandledRejection', hear)
    expect(unheard).toEqual([])
    await expect(compacted).rejects.toMatchObject({ code: 'OCTAVO_DISPOSED' })
  })

  it('may be disposed any number of times, in either way', async () => {
    await using engine = await loadStories()
    const session = engine.createSession()
    session.dispose()
    session[Symbol.dispose]()
    await session[Symbol.asyncDispose]()
    await session[Symbol.asyncDispose]()
    expect(session.disposed).toBe(true)
  })

  it('disposed before it ran, or while it waits for a place, leaves the others alone', async () => {
    await using engine = await loadStories({ maxSequences: 1 })
    using running = engine.createSession()
    const run = running.generate('Tom', { maxNewTokens: 80 })
    const result = run.result
    const waiting = engine.createSession()
    const refused = expect(waiting.generate('Sam', long).result).rejects.toEqual(disposed)
    waiting.dispose()
    await refused
    expect((await result).usage.completionTokens).toBe(80)
  })

  it('leaves at the end of its block', async () => {
    await using engine = await loadStories()
    let kept: Session
    {
      using session = engine.createSession()
      kept = session
      await session.generate('Tom', { maxNewTokens: 5 }).result
    }
    expect(sessionBytes(engine.memory())).toBe(0)
    expect(() => kept.generate('Tom')).toThrow(disposed)
  })
})

describe('an engine', () => {
  it('gives everything back when dispose returns, in mid-stream too', async () => {
    const engine = await loadStories()
    const sessions = [...Array(5)].map(() => engine.createSession())
    const streams = sessions.map((session) => drain(session.generate('Tom', long)))
    const failed = Promise.all(streams.map((stream) => expect(stream).rejects.toEqual(disposed)))
    await sessions[0]!.engine.logits([1])
    engine.dispose()
    expectNothingLive()
    await failed
    for (const session of sessions) {
      expect(session.disposed).toBe(true)
      session.dispose()
      await session[Symbol.asyncDispose]()
    }
  })

  it('does the same without blocking', async () => {
    const engine = await loadStories()
    const stream = drain(engine.createSession().generate('Tom', long))
    const failed = expect(stream).rejects.toEqual(disposed)
    await engine[Symbol.asyncDispose]()
    expectNothingLive()
    await failed
  })

  it('may be disposed any number of times, in both ways at once', async () => {
    const engine = await loadStories()
    const both = [engine[Symbol.asyncDispose](), engine[Symbol.asyncDispose]()]
    engine.dispose()
    expectNothingLive()
    await Promise.all(both)
    engine.dispose()
    await engine[Symbol.asyncDispose]()
  })

  it('refuses everything afterwards, without a crash', async () => {
    const engine = await loadStories()
    const session = engine.createSession()
    const run = session.generate('Tom', long)
    engine.dispose()
    for (const use of [
      () => engine.createSession(),
      () => engine.memory(),
      () => engine.check(),
      () => session.generate('Tom'),
      () => session.memory(),
    ]) {
      expect(use).toThrow(disposed)
    }
    await expect(run.result).rejects.toEqual(disposed)
    await expect(engine.logits([1])).rejects.toEqual(disposed)
    expect(engine.device).toBe('cpu')
    expect(engine.tokenizer?.decode([403, 407])).toBe('Once upon')
  })

  it('may be loaded and disposed again and again, two at a time', async () => {
    const cycle = async (): Promise<void> => {
      for (let i = 0; i < 10; i++) {
        await using engine = await loadStories()
        using session = engine.createSession()
        await session.generate('Tom', { maxNewTokens: 2 }).result
      }
    }
    await Promise.all([cycle(), cycle()])
  })
})

async function drain(run: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of run);
}
