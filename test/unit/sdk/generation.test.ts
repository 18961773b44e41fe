/** The stream's rules, with a scripted engine: what arrives when, and what is let go. */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Generation, Piece } from '../../../lib/index.js'
import { creditWindow } from '../../../lib/runtime/sample.js'
import { fakeEngine, type FakeEngine } from '../../fakes/engine.js'
import { refusal } from '../../refusal.js'

let fake: FakeEngine
beforeEach(() => {
  fake = fakeEngine()
})
afterEach(() => {
  fake.engine.dispose()
  expect(fake.requests.size).toBe(0)
})

const generate = (options: object = {}): Generation =>
  fake.engine.createSession().generate('abc', options)

/** Asks for a piece that the test does not wait for. */
function pull(run: Generation): void {
  run.next().catch(() => {})
}

async function collect(run: Generation): Promise<Piece[]> {
  const pieces: Piece[] = []
  for await (const piece of run) pieces.push(piece)
  return pieces
}

describe('starting', () => {
  it('does nothing until it is asked for something', async () => {
    const run = generate()
    await run.return()
    await run.cancel()
    expect(fake.native.submitted).toEqual([])
    expect(await collect(run)).toEqual([])
  })

  it('starts once, by iterating or by reading the result', () => {
    const run = generate({ maxNewTokens: 9 })
    pull(run)
    void run.result
    void run.result
    expect(fake.native.submitted).toHaveLength(1)
    expect(fake.native.submitted[0]).toMatchObject({ session: 1, maxNewTokens: 9, score: false })
    expect([...fake.native.submitted[0]!.prompt]).toEqual([0, 1, 2])
  })

  it('hands a refusal to whoever looks, as an OctavoError', async () => {
    fake.native.refusal = Object.assign(new Error('busy'), { code: 'OCTAVO_SESSION_BUSY' })
    const run = generate()
    await expect(run.next()).rejects.toEqual(refusal('OCTAVO_SESSION_BUSY', 'busy'))
    await expect(run.result).rejects.toEqual(refusal('OCTAVO_SESSION_BUSY'))
  })
})

describe('tokens', () => {
  it('come in order, pieces concatenating to the result', async () => {
    const run = generate()
    const pieces = collect(run)
    fake.native.emit(1, [0, 1])
    fake.native.emit(1, [4])
    fake.native.emit(1, [2], { reason: 'length' })
    expect((await pieces).map(({ text }) => text)).toEqual(['a', 'b', ' ', 'c'])
    expect(await run.result).toMatchObject({
      text: 'ab c',
      tokens: [0, 1, 4, 2],
      finishReason: 'length',
      stopString: null,
      usage: { promptTokens: 3, cachedTokens: 1, completionTokens: 4 },
      timings: { queueMs: 1, firstTokenMs: 4, totalMs: 8, tokensPerSecond: 250 },
    })
  })

  it('go to their own request when several run', async () => {
    const [first, second] = [generate(), generate()]
    const texts = Promise.all([first.result, second.result])
    fake.native.emit(1, [0])
    fake.native.emit(2, [1])
    fake.native.emit(1, [2], { reason: 'length' })
    fake.native.emit(2, [3], { reason: 'length' })
    expect((await texts).map(({ text }) => text)).toEqual(['ac', 'bd'])
  })

  it('end at the EOS, whose text is left out and whose id is kept', async () => {
    const run = generate()
    const result = run.result
    fake.native.emit(1, [0, 8])
    fake.native.finish(1, { reason: 'eos' })
    expect(await result).toMatchObject({
      index: 0,
      text: 'a',
      tokens: [0, 8],
      finishReason: 'stop',
    })
    expect(await collect(run)).toEqual([
      { index: 0, text: 'a', tokens: [0] },
      { index: 0, text: '', tokens: [8] },
    ])
  })

  it('carry log-probabilities when asked', async () => {
    const run = generate({ logprobs: 0 })
    const pieces = collect(run)
    fake.native.emit(1, [1], { reason: 'length' })
    const logprobs = [{ token: 1, logprob: -1, top: [] }]
    expect(await pieces).toEqual([{ index: 0, text: 'b', tokens: [1], logprobs }])
    expect((await run.result).logprobs).toEqual(logprobs)
  })

  it('stay takeable after the result was awaited', async () => {
    const run = generate()
    const result = run.result
    fake.native.emit(1, [0, 1], { reason: 'length' })
    await result
    expect(await collect(run)).toHaveLength(2)
  })
})

describe('stop strings', () => {
  it('cancel the request, are not emitted, and drop what comes after', async () => {
    const run = generate({ stop: 'STOP' })
    const pieces = collect(run)
    fake.native.emit(1, [0, 6])
    fake.native.emit(1, [7, 1])
    expect(fake.native.cancelled).toEqual([1])
    fake.native.emit(1, [2], { reason: 'cancelled' })
    expect(await pieces).toEqual([
      { index: 0, text: 'a', tokens: [0] },
      { index: 0, text: '', tokens: [6, 7] },
    ])
    expect(await run.result).toMatchObject({
      text: 'a',
      tokens: [0, 6, 7],
      finishReason: 'stop',
      stopString: 'STOP',
    })
  })

  it('give held-back text out when the generation ends before they are complete', async () => {
    const run = generate({ stop: 'STOP' })
    const result = run.result
    fake.native.emit(1, [0, 6], { reason: 'length' })
    expect(await result).toMatchObject({ text: 'aST', finishReason: 'length', stopString: null })
  })
})

describe('credits', () => {
  it('let the engine run a window ahead of an idle consumer, and come back as pieces are taken', async () => {
    const run = generate()
    pull(run)
    const request = fake.native.request(1)
    expect(request.credits).toBe(creditWindow)
    fake.native.emit(1, Array<number>(creditWindow).fill(0))
    expect(request.credits).toBe(0)
    for (let taken = 0; taken < creditWindow / 2; taken++) await run.next()
    expect(request.credits).toBeGreaterThanOrEqual(creditWindow / 4)
    expect(request.credits).toBeLessThanOrEqual(creditWindow)
  })

  it('never run out while the consumer waits, even when no token makes text', () => {
    pull(generate())
    for (let step = 0; step < 5 * creditWindow; step++) {
      expect(fake.native.request(1).credits).toBeGreaterThan(0)
      fake.native.emit(1, [9])
    }
  })

  it('are unlimited once the result is read', () => {
    void generate({ maxNewTokens: 500 }).result
    expect(fake.native.request(1).credits).toBe(500)
    const late = generate({ maxNewTokens: 500 })
    pull(late)
    void late.result
    expect(fake.native.request(2).credits).toBeGreaterThanOrEqual(500)
  })
})

describe('leaving', () => {
  it('by break cancels, and goes on when the engine has let go', async () => {
    const run = generate()
    let left = false
    const loop = (async () => {
      for await (const _ of run) break
      left = true
    })()
    fake.native.emit(1, [0, 1])
    await new Promise(setImmediate)
    expect(fake.native.cancelled).toEqual([1])
    expect(left).toBe(false)
    fake.native.finish(1, { reason: 'cancelled' })
    await loop
    expect(await run.result).toMatchObject({ text: 'ab', finishReason: 'cancelled' })
    expect(await collect(run)).toEqual([])
  })

  it('by a throw cancels too', async () => {
    const run = generate()
    const loop = (async () => {
      for await (const _ of run) throw new Error('consumer')
    })()
    fake.native.emit(1, [0])
    await new Promise(setImmediate)
    expect(fake.native.cancelled).toEqual([1])
    fake.native.finish(1, { reason: 'cancelled' })
    await expect(loop).rejects.toThrow('consumer')
  })

  it('by cancel() keeps what there is', async () => {
    const run = generate({ stop: 'STOP' })
    const first = run.next()
    fake.native.emit(1, [0, 1, 6])
    await first
    const cancelled = run.cancel()
    fake.native.emit(1, [3], { reason: 'cancelled' })
    await cancelled
    expect((await collect(run)).map(({ text }) => text)).toEqual(['b', 'ST'])
    expect(await run.result).toMatchObject({ text: 'abST', finishReason: 'cancelled' })
  })

  it('by cancel() before the start gives an empty result', async () => {
    const run = generate()
    await run.cancel()
    const usage = { promptTokens: 3, cachedTokens: 0, completionTokens: 0 }
    expect(await run.result).toMatchObject({ text: '', finishReason: 'cancelled', usage })
    expect(fake.native.submitted).toEqual([])
  })
})

describe('a signal', () => {
  it('rejects iteration and result with its own reason, once the engine has let go', async () => {
    const controller = new AbortController()
    const run = generate({ signal: controller.signal })
    const first = run.next()
    fake.native.emit(1, [0, 1])
    await first
    const reason = new Error('enough')
    controller.abort(reason)
    expect(fake.native.cancelled).toEqual([1])
    const second = run.next()
    fake.native.finish(1, { reason: 'cancelled' })
    await expect(second).rejects.toBe(reason)
    await expect(run.result).rejects.toBe(reason)
  })

  it('that is aborted already submits nothing', async () => {
    const run = generate({ signal: AbortSignal.abort('no') })
    await expect(run.next()).rejects.toBe('no')
    expect(fake.native.submitted).toEqual([])
  })

  it('is let go of at the end, and has no effect after it', async () => {
    const controller = new AbortController()
    const removed = jest.spyOn(controller.signal, 'removeEventListener')
    const run = generate({ signal: controller.signal })
    const result = run.result
    fake.native.emit(1, [0], { reason: 'length' })
    await result
    expect(removed).toHaveBeenCalledTimes(1)
    controller.abort()
    expect(await collect(run)).toHaveLength(1)
  })
})

describe('disposal in mid-stream', () => {
  it('of the session throws OCTAVO_DISPOSED into the stream at once', async () => {
    const session = fake.engine.createSession()
    const run = session.generate('abc')
    const waiting = run.next()
    session.dispose()
    session.dispose()
    expect(fake.native.disposedSessions).toEqual([1])
    await expect(waiting).rejects.toEqual(refusal('OCTAVO_DISPOSED', 'this session'))
    await expect(run.result).rejects.toEqual(refusal('OCTAVO_DISPOSED'))
    fake.native.emit(1, [0], { reason: 'cancelled' })
    expect(() => session.generate('abc')).toThrow(refusal('OCTAVO_DISPOSED'))
    expect(() => session.memory()).toThrow(refusal('OCTAVO_DISPOSED'))
  })

  it('of the session reaches a generation that has not started', async () => {
    const session = fake.engine.createSession()
    const run = session.generate('abc')
    await session[Symbol.asyncDispose]()
    await expect(run.result).rejects.toEqual(refusal('OCTAVO_DISPOSED'))
    expect(fake.native.submitted).toEqual([])
  })

  it('of the engine disposes its sessions', async () => {
    const session = fake.engine.createSession()
    const waiting = session.generate('abc').next()
    fake.engine.dispose()
    await expect(waiting).rejects.toEqual(refusal('OCTAVO_DISPOSED', 'this engine'))
    expect(session.disposed).toBe(true)
    session.dispose()
    expect(fake.native.disposedSessions).toEqual([])
    for (const use of [
      () => fake.engine.createSession(),
      () => fake.engine.memory(),
      () => fake.engine.check(),
      () => session.generate('abc'),
    ]) {
      expect(use).toThrow(refusal('OCTAVO_DISPOSED'))
    }
    await expect(fake.engine.logits([0])).rejects.toEqual(refusal('OCTAVO_DISPOSED'))
  })
})

describe('failures', () => {
  it('of the engine carry its code and words', async () => {
    const run = generate()
    const result = run.result
    fake.native.finish(1, { reason: 'failed', code: 'OCTAVO_DEVICE_FAILED', message: 'card gone' })
    await expect(result).rejects.toEqual(refusal('OCTAVO_DEVICE_FAILED', 'card gone'))
    await expect(run.next()).rejects.toEqual(refusal('OCTAVO_DEVICE_FAILED'))
  })

  it('of the detokenizer end that request alone', async () => {
    const [broken, fine] = [generate(), generate()]
    const results = Promise.allSettled([broken.result, fine.result])
    fake.native.emit(1, [77])
    expect(fake.native.cancelled).toEqual([1])
    fake.native.finish(1, { reason: 'cancelled' })
    fake.native.emit(2, [0], { reason: 'length' })
    const [first, second] = await results
    expect(first).toMatchObject({ status: 'rejected', reason: { message: 'no word 77' } })
    expect(second).toMatchObject({ status: 'fulfilled', value: { text: 'a' } })
  })

  it('nobody looks at are not reported as unhandled', async () => {
    const unhandled = jest.fn()
    process.on('unhandledRejection', unhandled)
    const run = generate()
    void run.result
    fake.native.finish(1, { reason: 'failed', code: 'OCTAVO_INTERNAL', message: 'x' })
    await new Promise(setImmediate)
    await new Promise(setImmediate)
    process.removeListener('unhandledRejection', unhandled)
    expect(unhandled).not.toHaveBeenCalled()
  })
})

it("keeps the consumer's AsyncLocalStorage context, whoever delivers the events", async () => {
  const storage = new AsyncLocalStorage<string>()
  const run = generate()
  const seen: (string | undefined)[] = []
  const loop = storage.run('consumer', async () => {
    for await (const _ of run) seen.push(storage.getStore())
  })
  storage.run('engine', () => fake.native.emit(1, [0, 1], { reason: 'length' }))
  await loop
  expect(seen).toEqual(['consumer', 'consumer'])
})
