/** What nobody awaits, disposes or counts must neither end the process nor be warned of. */
import { getEventListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { Engine } from '../../../lib/engine.js'
import * as octavo from '../../../lib/index.js'
import type { EngineState } from '../../../lib/runtime/engine-state.js'
import { fakeEngine, type FakeEngine } from '../../fakes/engine.js'
import { refusal } from '../../refusal.js'

let fake: FakeEngine
let unhandled: unknown[]
const remember = (reason: unknown): number => unhandled.push(reason)
beforeEach(() => {
  fake = fakeEngine()
  unhandled = []
  process.on('unhandledRejection', remember)
})
afterEach(() => {
  process.removeListener('unhandledRejection', remember)
  fake.engine.dispose()
  jest.restoreAllMocks()
})

describe('a promise that nobody looks at', () => {
  it('of next() is not reported when the session is disposed', async () => {
    const session = fake.engine.createSession()
    const step = session.generate('abc').next()
    session.dispose()
    await sleep(5)
    expect(unhandled).toEqual([])
    await expect(step).rejects.toEqual(refusal('OCTAVO_DISPOSED'))
  })

  it('of logits() is not reported when the engine is disposed', async () => {
    const logits = fake.engine.logits([1, 2, 3])
    fake.engine.dispose()
    await sleep(5)
    expect(unhandled).toEqual([])
    await expect(logits).rejects.toEqual(refusal('OCTAVO_DISPOSED'))
  })
})

describe('one signal for many generations', () => {
  it('has one listener while they run, and none when they have ended', async () => {
    const { signal } = new AbortController()
    const runs = Array.from({ length: 20 }, () =>
      fake.engine.createSession().generate('abc', { signal }),
    )
    const results = runs.map((run) => run.result)
    expect(getEventListeners(signal, 'abort')).toHaveLength(1)
    runs.forEach((_, i) => fake.native.emit(i + 1, [0], { reason: 'length' }))
    await Promise.all(results)
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  it('reaches those that still run', async () => {
    const controller = new AbortController()
    const { signal } = controller
    const start = (): Promise<unknown> =>
      fake.engine.createSession().generate('abc', { signal }).result
    const [first, second, third] = [start(), start(), start()]
    fake.native.emit(1, [0], { reason: 'length' })
    await first
    controller.abort(new Error('enough'))
    expect(fake.native.cancelled).toEqual([2, 3])
    fake.native.emit(2, [], { reason: 'cancelled' })
    fake.native.emit(3, [], { reason: 'cancelled' })
    await expect(second).rejects.toThrow('enough')
    await expect(third).rejects.toThrow('enough')
  })
})

describe('classes', () => {
  it('are not there to be constructed by hand', () => {
    expect(Object.keys(octavo)).not.toEqual(expect.arrayContaining(['Session']))
    expect(Object.keys(octavo)).not.toEqual(expect.arrayContaining(['Generation']))
    expect(() => new Engine(undefined as unknown as EngineState, '')).toThrow(
      refusal('OCTAVO_INVALID_ARGUMENT', 'Engine.load()'),
    )
  })
})
