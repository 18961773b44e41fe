/** The scheduler against a model of plain lists: 100,000 random events, every step the same in both. */
import { openScheduler, schedulerOptions } from '../../helpers/scheduler-testing.js'
import type { Scheduler, SchedulerOptions } from '../../helpers/scheduler-testing.js'
import { SeededRandom } from '../../helpers/seeded-random.js'
import { ModelScheduler, type Planned } from './model-scheduler.js'

const blocks = 24
const tenants = ['', 'a', 'b']

function toPlanned(sequences: number[]): Planned[] {
  return Array.from({ length: sequences.length / 4 }, (_, index) => {
    const [request, start, count, logits] = sequences.slice(index * 4, index * 4 + 4)
    return { request: request!, start: start!, count: count!, logits: logits! }
  })
}

/** `toEqual` of plain data, without its price while they are. */
function same(received: unknown, expected: unknown): void {
  if (JSON.stringify(received) !== JSON.stringify(expected)) expect(received).toEqual(expected)
}

class Both {
  readonly sessions = new Map<number, number>() // by request
  readonly ended = new Map<number, number>()
  submitted = 0

  constructor(
    readonly scheduler: Scheduler,
    readonly model: ModelScheduler,
    readonly random: SeededRandom,
    readonly options: SchedulerOptions,
  ) {}

  submit(): void {
    const { random, options } = this
    const score = random.next() < 0.05
    const request = {
      score,
      maxNewTokens: score ? 0 : random.between(1, random.pick([6, 40, 120])),
      priority: random.pick([0, 0, 0, 1, -1]),
      credits: random.next() < 0.3 ? random.between(0, 10) : 1_000_000,
    }
    const most = blocks * options.blockSize - request.maxNewTokens
    const prompt = random.between(1, Math.min(most, random.pick([10, 60, 250])))
    const tenant = random.pick(tenants)
    const session = this.scheduler.createSession(tenant)
    const id = this.scheduler.submit(session, new Int32Array(prompt).fill(5), request)
    this.model.submit(id, tenant, prompt, request)
    this.sessions.set(id, session)
    this.submitted++
  }

  end(id: number): void {
    this.ended.set(id, (this.ended.get(id) ?? 0) + 1)
    this.scheduler.disposeSession(this.sessions.get(id)!)
    this.sessions.delete(id)
  }

  cancel(): void {
    const id = this.random.pick([...this.sessions.keys()])
    if (this.random.next() < 0.5) this.scheduler.cancel(id)
    this.model.end(id)
    this.end(id)
  }

  grant(): void {
    const id = this.random.pick([...this.sessions.keys()])
    const tokens = this.random.between(1, 30)
    this.scheduler.grant(id, tokens)
    this.model.requests.get(id)!.credits += tokens
  }

  step(): void {
    const planned = this.model.plan()
    const made = this.scheduler.step()
    same(toPlanned(made.sequences), planned.sequences)
    same([made.refused, made.starved], [planned.refused, []])
    const finished = this.model.book(planned.sequences)
    same(made.finished, finished)
    for (const id of finished) this.end(id)
  }

  /** Who runs, who waits and in which order, and how many blocks each holds. */
  agree(): void {
    const { running, waiting, held, stalls, preemptions } = this.scheduler.state()
    const blocksOf = [...this.sessions].flatMap(([id, session]) => [
      session,
      this.model.requests.get(id)!.blocks,
    ])
    same(
      { running, waiting, held, stalls, preemptions },
      {
        running: this.model.running.map(({ id }) => id),
        waiting: this.model.order(),
        held: blocksOf,
        stalls: this.model.stalls,
        preemptions: this.model.preemptions,
      },
    )
  }
}

const cases: [string, Partial<SchedulerOptions>][] = [
  ['guaranteed', {}],
  ['guaranteed, few rows and tokens', { maxSequences: 5, maxBatchTokens: 12, maxLogitRows: 5 }],
  ['optimistic', { optimistic: true }],
  ['optimistic, few tokens', { optimistic: true, maxSequences: 6, maxBatchTokens: 10 }],
]

test.each(cases)('%s: 25,000 random events', (_, given) => {
  const options = { ...schedulerOptions, ...given }
  const { scheduler, pool, memory } = openScheduler(blocks, options)
  const both = new Both(
    scheduler,
    new ModelScheduler(blocks, options),
    new SeededRandom(41),
    options,
  )
  for (let event = 0; event < 25_000; event++) {
    const action = both.random.next()
    if (action < 0.2 && both.sessions.size < 24) both.submit()
    else if (action < 0.24 && both.sessions.size > 0) both.cancel()
    else if (action < 0.34 && both.sessions.size > 0) both.grant()
    else both.step()
    if (event % 10 === 0) both.agree()
    if (event % 500 === 0) scheduler.check()
  }
  for (const id of both.sessions.keys()) {
    scheduler.grant(id, 1000)
    both.model.requests.get(id)!.credits += 1000
  }
  for (let turn = 0; both.sessions.size > 0 && turn < 5000; turn++) both.step()
  both.agree()
  scheduler.check()
  expect(both.ended.size).toBe(both.submitted)
  expect([...both.ended.values()].every((times) => times === 1)).toBe(true)
  const { stalls, preemptions } = scheduler.state()
  expect(options.optimistic ? preemptions : stalls).toBeGreaterThan(0)
  expect(options.optimistic ? stalls : preemptions).toBe(0)
  expect(pool.pages()).toMatchObject({ owned: 0, inFlight: 0, free: blocks })
  pool.dispose()
  expect(memory.lines()).toEqual([])
})
