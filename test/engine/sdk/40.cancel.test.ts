import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Engine } from '../../../lib/index.js'
import { expectNothingLive, golden, ledgerOf, loadStories } from './support.js'

let engine: Engine
let loaded: ReturnType<typeof ledgerOf>
beforeAll(async () => {
  engine = await loadStories({ maxSequences: 2 })
  loaded = ledgerOf(engine)
})
afterEach(() => {
  expect(engine.memory().requests).toEqual({ running: 0, waiting: 0 })
  expect(engine.memory().sessions).toEqual([])
  engine.check()
})
afterAll(async () => {
  await engine.compact()
  expect(ledgerOf(engine)).toEqual(loaded)
  engine.dispose()
  expectNothingLive()
})

const long = { maxNewTokens: 500, ignoreEos: true }

describe('break', () => {
  it('leaves the session free for the next generation, its KV kept', async () => {
    await using session = engine.createSession()
    for (let turn = 0; turn < 20; turn++) {
      let count = 0
      for await (const _ of session.generate('Once upon a time', long)) if (++count === 3) break
    }
    const { tokens } = await session.generate('Once upon a time', { maxNewTokens: 8 }).result
    expect(tokens).toEqual(golden[0].ids.slice(5, 13))
  })

  it('ends the engine’s work within a few steps', async () => {
    await using session = engine.createSession()
    for await (const _ of session.generate('Tom', long)) break
    const { steps } = engine.memory()
    await sleep(20)
    expect(engine.memory().steps).toBe(steps)
  })

  it('resolves the result with what there was', async () => {
    await using session = engine.createSession()
    const run = session.generate('Once upon a time', long)
    for await (const _ of run) break
    const { finishReason, tokens } = await run.result
    expect(finishReason).toBe('cancelled')
    expect(tokens.length).toBeGreaterThan(0)
    expect(tokens).toEqual(golden[0].ids.slice(5, 5 + tokens.length))
  })
})

describe('a signal', () => {
  it('rejects iteration and result with its reason, and frees the session', async () => {
    await using session = engine.createSession()
    const controller = new AbortController()
    const run = session.generate('Tom', { ...long, signal: controller.signal })
    const reason = new Error('enough')
    const loop = (async () => {
      for await (const _ of run) controller.abort(reason)
    })()
    await expect(loop).rejects.toBe(reason)
    await expect(run.result).rejects.toBe(reason)
    expect((await session.generate('Tom', { maxNewTokens: 2 }).result).tokens).toHaveLength(2)
  })

  it('may be a timeout', async () => {
    await using session = engine.createSession()
    const signal = AbortSignal.timeout(30)
    let pieces = 0
    const loop = (async () => {
      for await (const _ of session.generate('Tom', { ...long, signal })) {
        pieces++
        if (!signal.aborted) await once(signal, 'abort')
      }
    })()
    await expect(loop).rejects.toMatchObject({ name: 'TimeoutError' })
    expect(pieces).toBeLessThan(2)
  })

  it('reaches a request that still waits for a place', async () => {
    await using first = engine.createSession()
    await using second = engine.createSession()
    await using third = engine.createSession()
    const running = [first.generate('Tom', long), second.generate('Sam', long)]
    for (const run of running) await run.next()
    const controller = new AbortController()
    const waiting = third.generate('Ben', { ...long, signal: controller.signal }).next()
    expect(engine.memory().requests).toEqual({ running: 2, waiting: 1 })
    controller.abort('no more')
    await expect(waiting).rejects.toBe('no more')
    for (const run of running) await run.return()
  })

  it('cancels a scoring', async () => {
    const controller = new AbortController()
    const logits = engine.logits(Array<number>(512).fill(5), { signal: controller.signal })
    controller.abort('never mind')
    await expect(logits).rejects.toBe('never mind')
  })
})

describe('cancel()', () => {
  it('keeps the pieces that came', async () => {
    await using session = engine.createSession()
    const run = session.generate('Once upon a time', long)
    let text = (await run.next()).value!.text
    await run.cancel()
    for await (const piece of run) text += piece.text
    const result = await run.result
    expect(result.text).toBe(text)
    expect(result.finishReason).toBe('cancelled')
  })

  it.each(['cancel', 'dispose', 'return'] as const)(
    '%s: an end that was not told of yet is no end',
    async (how) => {
      await using session = engine.createSession()
      const run = session.generate('Tom', { maxNewTokens: 21, ignoreEos: true })
      const { result } = run
      // Events reach JavaScript only when it gives way, which it does not here.
      while (engine.memory().requests.running + engine.memory().requests.waiting > 0);
      if (how === 'cancel') void run.cancel()
      else if (how === 'return') void run.return()
      else run[Symbol.dispose]()
      const { finishReason, tokens, text, usage } = await result
      expect({ finishReason, tokens, text }).toEqual({
        finishReason: 'cancelled',
        tokens: [],
        text: '',
      })
      expect(usage.completionTokens).toBe(0)
    },
  )
})

describe('logits with a signal', () => {
  const ids = golden[0].ids.slice(0, 40)

  it('reject with its reason, however soon after the call it aborts', async () => {
    for (let round = 0; round < 50; round++) {
      const controller = new AbortController()
      const logits = engine.logits(ids, { signal: controller.signal })
      controller.abort(round)
      await expect(logits).rejects.toBe(round)
    }
  })

  it('reject with its reason when the engine is done and nobody was told', async () => {
    for (let round = 0; round < 5; round++) {
      const controller = new AbortController()
      const logits = engine.logits(ids, { signal: controller.signal })
      const inEngine = (): number => {
        const { running, waiting } = engine.memory().requests
        return running + waiting
      }
      while (inEngine() > 0); // its thread goes on; this one hears of it when it next waits
      controller.abort(round)
      await expect(logits).rejects.toBe(round)
    }
  })

  it('are there when it aborts after them', async () => {
    const controller = new AbortController()
    const { rows } = await engine.logits(ids, { signal: controller.signal })
    controller.abort()
    expect(rows).toBe(40)
  })
})
