/**
 * Thousands of requests as a service sees them: callers that read to the end, read slowly, abort, go away, run out of
 * time or ask for too much, on a device that is short of pages at first. Nothing of them is left, in the host neither.
 */
import { collectGarbage } from '../helpers/collect-garbage.js'
import { story } from '../helpers/goldens.js'
import { native, TestEngine, type Running } from '../helpers/native-engine.js'
import { SeededRandom } from '../helpers/seeded-random.js'

const fates = ['read', 'slow', 'abort', 'leave', 'late', 'too much'] as const
type Fate = (typeof fates)[number]

/** AddressSanitizer is slow: fewer of the same. */
const count = native.buildInfo.sanitizer ? 1000 : 5000
const clients = 12
const MiB = 2 ** 20
const turn = (): Promise<void> => new Promise(setImmediate)

/** One client's conversation; a session that was left is followed by another. */
class Client {
  readonly ends: Record<Fate, number> = {
    read: 0,
    slow: 0,
    abort: 0,
    leave: 0,
    late: 0,
    'too much': 0,
  }
  #session: number

  constructor(
    readonly engine: TestEngine,
    readonly random: SeededRandom,
  ) {
    this.#session = engine.native.createSession()
  }

  async ask(): Promise<void> {
    const fate = this.random.pick(fates)
    this.ends[fate]++
    if (fate === 'too much') return this.#askTooMuch()
    const given = this.random.between(1, 120)
    const running = this.engine.start(this.#session, {
      prompt: story.slice(0, given),
      maxNewTokens: this.random.between(2, 60),
      credits: fate === 'read' ? 1_000_000 : 1,
      ...(fate === 'late' && { stages: { queueMs: 0, inferenceMs: 0, postMs: 1 } }),
    })
    await this.#meet(running, fate)
    const { reason, code, outputTokens } = await running.finish
    expect(reason).toBe(
      { read: 'length', slow: 'length', late: 'failed', abort: 'cancelled', leave: 'cancelled' }[
        fate
      ],
    )
    if (fate === 'late') expect(code).toBe('OCTAVO_TIMED_OUT')
    expect(running.finishes).toHaveLength(1)
    expect(running.tokens).toEqual(story.slice(given, given + outputTokens))
    this.engine.forget(running)
    if (fate === 'leave' || this.random.next() < 0.1) await this.#begin()
  }

  end(): Promise<void> {
    return this.engine.native.disposeSession(this.#session)
  }

  async #meet(running: Running, fate: Fate): Promise<void> {
    if (fate === 'read' || fate === 'late') return
    if (fate === 'slow') {
      while (running.finishes.length === 0) {
        this.engine.native.grant(running.id, this.random.between(1, 8))
        await turn()
      }
      return
    }
    if (this.random.next() < 0.7) await running.produced(1)
    else await turn()
    if (fate === 'abort') this.engine.native.cancel(running.id)
    else await this.end()
  }

  async #begin(): Promise<void> {
    await this.end()
    this.#session = this.engine.native.createSession()
  }

  #askTooMuch(): void {
    const prompt = story.slice(0, 100)
    expect(() => this.engine.start(this.#session, { prompt, maxNewTokens: 1e6 })).toThrow(
      expect.objectContaining({ code: 'OCTAVO_CONTEXT_EXCEEDED' }),
    )
  }
}

/** Of the host, less what the JavaScript heap has: after a collection. */
function hostBytes(): number {
  collectGarbage()
  const { rss, heapTotal, external } = process.memoryUsage()
  return rss - heapTotal - external
}

const median = (values: number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!

test(`${count} requests leave the ledger to the byte, and the host's memory flat`, async () => {
  const engine = await TestEngine.load({
    kvBytes: 8 * MiB,
    maxSequences: 8,
    maxBatchTokens: 64,
    testing: { checkSteps: 11, kvPages: 1, kvPagesUntil: 400 },
  })
  const loaded = engine.native.report()
  const all = Array.from({ length: clients }, (_, i) => new Client(engine, new SeededRandom(i)))
  const samples: number[] = []
  let asked = 0
  const serve = async (client: Client): Promise<void> => {
    while (asked < count) {
      if (++asked % (count / 10) === 0) samples.push(hostBytes())
      await client.ask()
    }
  }
  await Promise.all(all.map(serve))
  await Promise.all(all.map((client) => client.end()))
  for (const fate of fates) {
    expect(all.reduce((sum, { ends }) => sum + ends[fate], 0)).toBeGreaterThan(count / 10)
  }
  await engine.native.compact()
  const { lines } = engine.native.report()
  const withoutPeaks = (each: typeof lines): object[] =>
    each.map(({ peakBytes: _, ...line }) => line)
  expect(withoutPeaks(lines)).toEqual(withoutPeaks(loaded.lines))
  engine.expectEmpty(loaded)
  // From the second tenth on: what libraries take once is there by then. AddressSanitizer keeps what was freed.
  const grown = median(samples.slice(6)) - median(samples.slice(1, 5))
  if (!native.buildInfo.sanitizer) expect(grown / count).toBeLessThan(2048)
  await engine.close()
})
