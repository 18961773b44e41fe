/** Handles that are forgotten: released, and named in a process warning. */
import type { Engine } from '../../../lib/index.js'
import { loadNative } from '../../../lib/native.js'
import { collectUntil } from '../../helpers/collect-garbage.js'
import { inOwnProcess } from '../../helpers/own-process.js'
import { expectNothingLive, ledgerOf, loadStories } from './support.js'

inOwnProcess(__filename, () => {
  interface Warning {
    message: string
    code?: string
    detail?: string
  }

  let warnings: Warning[] = []

  beforeAll(() => {
    const remember = (message: string | Error, options?: object): void => {
      warnings.push({ message: String(message), ...options })
    }
    jest.spyOn(process, 'emitWarning').mockImplementation(remember)
  })
  afterAll(() => jest.restoreAllMocks())
  beforeEach(() => {
    warnings = []
  })
  afterEach(expectNothingLive)

  /** Long enough for a registry to fire, if it were to. */
  async function collectInVain(): Promise<void> {
    let rounds = 0
    await collectUntil(() => ++rounds > 8)
  }

  const long = { maxNewTokens: 500, ignoreEos: true }

  function expectOneWarning(what: RegExp): void {
    expect(warnings).toHaveLength(1)
    const [{ code, message, detail }] = warnings as [Warning]
    expect(code).toBe('OCTAVO_UNDISPOSED')
    expect(message).toMatch(what)
    expect(detail).toMatch(/^created\n +at .*\.ts:/)
    expect(detail).toContain('80.gc.test.ts')
  }

  describe('a forgotten session', () => {
    it('is released, its creator named', async () => {
      await using engine = await loadStories()
      const loaded = ledgerOf(engine)
      const forget = async (): Promise<void> => {
        const session = engine.createSession()
        await session.generate('Tom', { maxNewTokens: 40 }).result
      }
      await forget()
      expect(engine.memory().sessions).toHaveLength(1)
      await collectUntil(() => warnings.length > 0)
      expectOneWarning(/^Session 1 was garbage-collected without dispose\(\)/)
      expect(engine.memory().sessions).toEqual([])
      await collectUntil(() => engine.memory().kv.inFlightBlocks === 0)
      await engine.compact()
      expect(ledgerOf(engine)).toEqual(loaded)
    })

    it('that was disposed is not named', async () => {
      await using engine = await loadStories()
      const use = (): void => {
        using _session = engine.createSession()
      }
      for (let i = 0; i < 5; i++) use()
      await collectInVain()
      expect(warnings).toEqual([])
    })

    it('lives on while its generation is awaited', async () => {
      await using engine = await loadStories()
      const start = (): Promise<{ text: string }> =>
        engine.createSession().generate('Once upon a time', long).result
      const result = start()
      await collectInVain()
      expect((await result).text.length).toBeGreaterThan(100)
      await collectUntil(() => warnings.length > 0)
      expectOneWarning(/^Session 1 /)
    })
  })

  describe('a forgotten engine', () => {
    it('is released, its creator named', async () => {
      const forget = async (): Promise<void> => {
        const engine = await loadStories()
        engine.check()
      }
      await forget()
      expect(loadNative().liveObjects().engines).toBe(1)
      await collectUntil(() => warnings.length > 0 && loadNative().liveObjects().engines === 0)
      expectOneWarning(/^the Engine of .*stories260k was garbage-collected/)
    })

    it('lives on while one of its sessions is held', async () => {
      const held = (await loadStories()).createSession()
      await collectInVain()
      expect(warnings).toEqual([])
      expect((await held.generate('Tom', { maxNewTokens: 3 }).result).tokens).toHaveLength(3)
      held.engine.dispose()
    })

    it('lives on while a generation is iterated', async () => {
      const start = async (): Promise<AsyncIterator<unknown>> => {
        const engine: Engine = await loadStories()
        return engine.createSession().generate('Once upon a time', long)
      }
      const iterate = async (iterator: AsyncIterator<unknown>): Promise<number> => {
        let pieces = 0
        while (!(await iterator.next()).done) {
          if (++pieces % 100 === 0) await collectInVain()
        }
        return pieces
      }
      const pieces = await iterate(await start())
      expect(pieces).toBeGreaterThan(300)
      expect(warnings).toEqual([])
      const emptied = (): boolean => loadNative().liveObjects().engines === 0
      await collectUntil(() => emptied() && warnings.length > 0)
      expect(warnings.map(({ message }) => message)).toContainEqual(
        expect.stringMatching(/^the Engine of/),
      )
    })
  })

  describe('a generation left in mid-stream', () => {
    it('is cancelled, and the session stays usable', async () => {
      await using engine = await loadStories()
      using session = engine.createSession()
      const leave = async (): Promise<void> => {
        const run = session.generate('Once upon a time', long)
        await run.next()
      }
      await leave()
      await collectUntil(() => warnings.length > 0 && engine.memory().requests.running === 0)
      expectOneWarning(/^a Generation in mid-stream was garbage-collected/)
      expect((await session.generate('Tom', { maxNewTokens: 3 }).result).tokens).toHaveLength(3)
    })

    it('that never started holds nothing and is not named', async () => {
      await using engine = await loadStories()
      using session = engine.createSession()
      for (let i = 0; i < 50; i++) session.generate('Once upon a time', long)
      await collectInVain()
      expect(warnings).toEqual([])
      expect(engine.memory().requests).toEqual({ running: 0, waiting: 0 })
    })
  })
})
