/** Everything at once, without a model: sessions that stay, forks, a prefix cache, a pool that shrinks and moves. */
import { openScheduler, schedulerOptions } from '../../helpers/scheduler-testing.js'
import type { OpenScheduler, SchedulerOptions } from '../../helpers/scheduler-testing.js'
import { SeededRandom } from '../../helpers/seeded-random.js'

const prefix = { eviction: 'lru-2', share: 0.7, retentionMs: 0, correlatedUses: 1 } as const
const blockBytes = 2 ** 19 // four a page
const blocks = 40

const cases: [string, Partial<SchedulerOptions>, boolean][] = [
  ['guaranteed', {}, false],
  ['guaranteed with a prefix cache', { prefix }, false],
  ['optimistic with a prefix cache', { prefix, optimistic: true }, false],
  ['guaranteed in a pool that shrinks', { prefix }, true],
  ['optimistic in a pool that shrinks', { prefix, optimistic: true }, true],
]

class Traffic {
  readonly idle = new Set<number>()
  readonly busy = new Map<number, number>() // request → session
  readonly ends = new Map<number, number>()
  refused = 0

  constructor(
    readonly opened: OpenScheduler,
    readonly random: SeededRandom,
    readonly shrinks: boolean,
  ) {}

  /** Prompts that begin alike, now and then. */
  prompt(): Int32Array {
    const kind = this.random.between(0, 3)
    const shared = this.random.between(0, 120)
    const tokens = this.random.between(1, 200)
    return Int32Array.from({ length: tokens }, (_, index) =>
      index < shared ? kind : this.random.between(0, 3),
    )
  }

  session(): number {
    const { random } = this
    const idle = [...this.idle]
    if (idle.length > 4 && random.next() < 0.6) return random.pick(idle)
    const { scheduler } = this.opened
    const forks = idle.length > 0 && random.next() < 0.3
    const made = forks
      ? scheduler.forkSession(random.pick(idle))
      : scheduler.createSession(random.pick(['', 'a']))
    this.idle.add(made)
    return made
  }

  submit(): void {
    const { random } = this
    const session = this.session()
    const prompt = this.prompt()
    const score = random.next() < 0.05
    const request = this.opened.scheduler.submit(session, prompt, {
      score,
      maxNewTokens: score ? 0 : random.between(1, 16 * blocks - prompt.length > 120 ? 120 : 60),
      priority: random.pick([0, 0, 1]),
      credits: random.next() < 0.2 ? random.between(0, 8) : 1_000_000,
    })
    this.idle.delete(session)
    this.busy.set(request, session)
  }

  end(request: number): void {
    this.ends.set(request, (this.ends.get(request) ?? 0) + 1)
    this.idle.add(this.busy.get(request)!)
    this.busy.delete(request)
  }

  step(): void {
    const { finished, refused, starved, sequences } = this.opened.scheduler.step()
    if (!this.shrinks) expect([refused, starved]).toEqual([[], []])
    for (const request of [...finished, ...refused]) this.end(request)
    this.refused += refused.length
    const tokens = sequences.filter((_, index) => index % 4 === 2)
    expect(tokens.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(64)
  }

  /** Now and then after a lull in which all pages have gone, so that little is left for what comes. */
  shrink(): void {
    const { random, opened } = this
    const { scheduler, pool } = opened
    if (random.next() < 0.3) {
      for (const request of [...this.busy.keys()]) {
        scheduler.cancel(request)
        this.end(request)
      }
      for (const session of this.idle) scheduler.disposeSession(session)
      this.idle.clear()
      scheduler.clearPrefixCache()
    }
    pool.trim(0)
    pool.setRoom(random.between(0, 6))
    if (random.next() < 0.5) pool.raiseCapacity(random.between(0, blocks) * blockBytes)
  }

  act(): void {
    const { random, opened } = this
    const { scheduler } = opened
    const action = random.next()
    if (action < 0.15 && this.busy.size < 20) this.submit()
    else if (action < 0.18 && this.busy.size > 0) {
      const request = random.pick([...this.busy.keys()])
      scheduler.cancel(request)
      this.end(request)
    } else if (action < 0.22 && this.idle.size > 6) {
      const session = random.pick([...this.idle])
      scheduler.disposeSession(session)
      this.idle.delete(session)
    } else if (action < 0.3 && this.busy.size > 0) {
      scheduler.grant(random.pick([...this.busy.keys()]), random.between(1, 40))
    } else if (action < 0.33) scheduler.compact()
    else if (action < 0.36 && this.shrinks) {
      this.shrink()
    } else this.step()
  }
}

test.each(cases)('%s: every request ends once, and nothing is left', (_, given, shrinks) => {
  const options = { ...schedulerOptions, ...given }
  const opened = openScheduler(blocks, options, blockBytes)
  const { scheduler, pool, memory } = opened
  const traffic = new Traffic(opened, new SeededRandom(2026), shrinks)
  for (let event = 0; event < 12_000; event++) {
    traffic.act()
    if (event % 8 === 0) scheduler.check()
  }
  pool.setRoom(blocks)
  pool.raiseCapacity(blocks * blockBytes)
  for (const request of traffic.busy.keys()) scheduler.grant(request, 1000)
  for (let turn = 0; traffic.busy.size > 0 && turn < 3000; turn++) traffic.step()
  expect(traffic.busy.size).toBe(0)
  expect([...traffic.ends.values()].every((times) => times === 1)).toBe(true)
  expect(traffic.refused > 0).toBe(shrinks)
  const { preemptions, prefix: report } = scheduler.state()
  expect(preemptions > 0).toBe(options.optimistic)
  expect(report.hitTokens > 0).toBe('prefix' in given)
  for (const session of traffic.idle) scheduler.disposeSession(session)
  scheduler.check()
  const { cached } = scheduler.state().prefix
  expect(pool.pages()).toMatchObject({ owned: cached, inFlight: 0, free: blocks - cached })
  pool.dispose()
  expect(memory.lines()).toEqual([])
})
