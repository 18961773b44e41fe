/** The scheduler in plain lists, one session a request and no prefix cache: what the property test holds ours to. */
import type { SchedulerOptions, SchedulerRequest } from '../../helpers/scheduler-testing.js'

export interface ModelRequest extends SchedulerRequest {
  id: number
  tenant: string
  prompt: number
  output: number
  /** Tokens whose KV is held, and the blocks that hold it. */
  computed: number
  blocks: number
  running: boolean
  wasAdmitted: boolean
  /** Steps in a row in which no logit row was left for it. */
  missed: number
}

export interface Planned {
  request: number
  start: number
  count: number
  logits: number
}

const lengthOf = ({ prompt, output }: ModelRequest): number => prompt + output
const leftOf = ({ maxNewTokens, output }: ModelRequest): number => maxNewTokens - output
const isPaused = ({ score, credits }: ModelRequest): boolean => !score && credits <= 0
const sum = (numbers: number[]): number => numbers.reduce((total, number) => total + number, 0)

export class ModelScheduler {
  readonly requests = new Map<number, ModelRequest>()
  running: ModelRequest[] = []
  waiting: ModelRequest[] = []
  served = new Map<string, number>()
  stalls = 0
  preemptions = 0
  #lastServed = 0
  /** Of this step, while it holds: who needs the least first, and what is spare when each has all it may. */
  #order: { request: ModelRequest; spare: number }[] | null = null

  constructor(
    private readonly capacity: number,
    private readonly options: SchedulerOptions,
  ) {}

  submit(id: number, tenant: string, prompt: number, request: SchedulerRequest): void {
    const entered = { ...request, id, tenant, prompt, output: 0, computed: 0, blocks: 0 }
    const made = { ...entered, running: false, wasAdmitted: false, missed: 0 }
    this.requests.set(id, made)
    const own = this.served.get(tenant) ?? 0
    if (!this.waiting.some((other) => other.tenant === tenant)) {
      const others = this.waiting.map((other) => this.served.get(other.tenant)!)
      const least = others.length === 0 ? this.#lastServed : Math.min(...others)
      this.served.set(tenant, Math.max(own, least))
    }
    this.#putBack(made)
  }

  end(id: number): void {
    const request = this.requests.get(id)
    if (request === undefined) return
    this.requests.delete(id)
    if (request.running) this.running = this.running.filter((other) => other !== request)
    else this.#takeOut(request)
  }

  /** As they would be served if nobody came. */
  order(): number[] {
    const served = new Map(this.served)
    let left = [...this.waiting]
    const order: number[] = []
    while (left.length > 0) {
      const next = this.#next(left, served)
      if (!next.wasAdmitted) served.set(next.tenant, served.get(next.tenant)! + next.prompt)
      order.push(next.id)
      left = left.filter((other) => other !== next)
    }
    return order
  }

  plan(): { sequences: Planned[]; refused: number[] } {
    const draft: Draft = {
      sequences: [],
      refused: [],
      tokens: this.options.maxBatchTokens,
      rows: this.options.maxLogitRows,
      preempted: false,
    }
    this.#order = null
    const running = [...this.running].sort((a, b) => b.priority - a.priority || b.missed - a.missed)
    for (const decoding of [true, false]) {
      for (const request of running) {
        if (!request.running) continue
        if ((lengthOf(request) - request.computed === 1) === decoding) this.#place(request, draft)
      }
    }
    if (!draft.preempted) this.#admit(draft)
    draft.sequences.sort((a, b) => a.logits - b.logits)
    return draft
  }

  /** What the step computed is held; those that are done are over. */
  book(sequences: Planned[]): number[] {
    const finished: number[] = []
    for (const { request: id, start, count, logits } of sequences) {
      const request = this.requests.get(id)!
      request.computed += count
      if (logits === 0) {
        request.output++
        request.credits--
      }
      const scored = request.score && start + count === request.prompt
      if (!scored && (logits !== 0 || leftOf(request) > 0)) continue
      finished.push(id)
      this.end(id)
    }
    return finished
  }

  #next(requests: ModelRequest[], served: Map<string, number>): ModelRequest {
    const key = ({ priority, tenant, id }: ModelRequest): number[] => [
      -priority,
      served.get(tenant)!,
      id,
    ]
    return [...requests].sort((a, b) => compare(key(a), key(b)))[0]!
  }

  #putBack(request: ModelRequest): void {
    this.waiting.push(request)
    this.waiting.sort((a, b) => a.id - b.id)
  }

  #takeOut(request: ModelRequest): void {
    this.waiting = this.waiting.filter((other) => other !== request)
    if (this.waiting.some(({ tenant }) => tenant === request.tenant)) return
    this.#lastServed = this.served.get(request.tenant)!
  }

  #charge({ tenant }: ModelRequest, tokens: number): void {
    this.served.set(tenant, this.served.get(tenant)! + tokens)
  }

  #blocksOf(tokens: number): number {
    return Math.ceil(tokens / this.options.blockSize)
  }

  #most({ prompt, maxNewTokens }: ModelRequest): number {
    return this.#blocksOf(prompt + maxNewTokens)
  }

  #promised(): number {
    return sum(this.running.map((request) => this.#most(request)))
  }

  #place(request: ModelRequest, draft: Draft): void {
    if (isPaused(request)) return
    const start = request.computed
    const remaining = lengthOf(request) - start
    let count = Math.min(remaining, draft.tokens)
    let logits = 1
    if (request.score) {
      count = Math.min(count, draft.rows)
      logits = 2
    } else if (count === remaining) {
      request.missed = draft.rows > 0 ? 0 : request.missed + 1
      if (draft.rows > 0) logits = 0
      else count--
    }
    if (count <= 0 || !this.#provide(request, this.#blocksOf(start + count), draft)) return
    draft.tokens -= count
    if (logits === 2) draft.rows -= count
    if (logits === 0) {
      draft.rows--
      this.#charge(request, 2)
    }
    draft.sequences.push({ request: request.id, start, count, logits })
  }

  #unplace(request: ModelRequest, draft: Draft): void {
    const at = draft.sequences.findIndex(({ request: id }) => id === request.id)
    if (at < 0) return
    const [{ count, logits }] = draft.sequences.splice(at, 1) as [Planned]
    draft.tokens += count
    if (logits === 2) draft.rows += count
    if (logits !== 0) return
    draft.rows++
    this.#charge(request, -2)
  }

  #admit(draft: Draft): void {
    while (draft.tokens > 0) {
      const ready = this.waiting.filter((request) => !isPaused(request))
      if (ready.length === 0) return
      const next = this.#next(ready, this.served)
      let fits = this.#fits(next)
      while (!fits && this.#parkPaused(next)) fits = this.#fits(next)
      if (!fits) {
        if (this.running.length === 0) draft.refused.push(next.id)
        return
      }
      this.#takeOut(next)
      this.running.push(next)
      if (!next.wasAdmitted) this.#charge(next, next.prompt)
      next.running = next.wasAdmitted = true
      this.#order = null
      this.#place(next, draft)
      if (draft.preempted) return
    }
  }

  #fits(request: ModelRequest): boolean {
    if (this.running.length >= this.options.maxSequences) return false
    if (this.#most(request) > this.capacity) return false
    if (this.#promised() + this.#most(request) <= this.capacity) return true
    if (this.options.optimistic) {
      const watermark = this.running.length === 0 ? 0 : Math.floor(this.capacity / 100) + 1
      const held = sum(this.running.map(({ blocks }) => blocks))
      return held + this.#blocksOf(lengthOf(request)) + watermark <= this.capacity
    }
    return this.#peak([...this.running, request]) <= this.capacity
  }

  /** Every moment at which one ends: what those hold that have not ended before. */
  #peak(requests: ModelRequest[]): number {
    const held = (request: ModelRequest, steps: number): number =>
      Math.max(request.blocks, this.#blocksOf(lengthOf(request) + steps))
    const moments = requests.map((request) => leftOf(request))
    const at = (steps: number): number =>
      sum(requests.filter((each) => leftOf(each) >= steps).map((each) => held(each, steps)))
    return Math.max(...moments.map(at))
  }

  /** So many blocks more, and those that need less than this one can still end one after the other. */
  #isSafe(request: ModelRequest, blocks: number): boolean {
    if (blocks === 0 || this.options.optimistic || this.#promised() <= this.capacity) return true
    this.#order ??= this.#weigh()
    const place = this.#order.findIndex((each) => each.request === request)
    return this.#order.slice(0, place).every(({ spare }) => blocks <= spare)
  }

  #weigh(): { request: ModelRequest; spare: number }[] {
    const need = (request: ModelRequest): number => this.#most(request) - request.blocks
    const order = [...this.running].sort((a, b) => need(a) - need(b))
    return order.map((request, place) => {
      const held = sum(order.slice(place).map(({ blocks }) => blocks))
      return { request, spare: this.capacity - held - need(request) }
    })
  }

  #provide(request: ModelRequest, inAll: number, draft: Draft): boolean {
    const missing = (): number => Math.max(0, inAll - request.blocks)
    while (!this.#isSafe(request, missing())) {
      if (this.#parkPaused(request)) continue
      this.stalls++
      return false
    }
    for (;;) {
      this.#makeFree(missing())
      if (missing() <= this.#free()) break
      if (!this.options.optimistic || !this.#preempt(request, draft)) return false
    }
    const place = this.#order?.findIndex((each) => each.request === request) ?? 0
    for (const each of this.#order?.slice(0, place) ?? []) each.spare -= missing()
    request.blocks += missing()
    return true
  }

  #free(): number {
    return this.capacity - sum([...this.requests.values()].map(({ blocks }) => blocks))
  }

  /** Those that wait lose the end of what they hold, the last to arrive first. */
  #makeFree(wanted: number): void {
    for (const request of [...this.waiting].sort((a, b) => b.id - a.id)) {
      const lost = Math.min(request.blocks, Math.max(0, wanted - this.#free()))
      request.blocks -= lost
      request.computed = Math.min(request.computed, request.blocks * this.options.blockSize)
    }
  }

  #parkPaused(except: ModelRequest): boolean {
    const paused = this.running.filter((each) => isPaused(each) && each !== except).at(-1)
    if (paused !== undefined) this.#park(paused)
    return paused !== undefined
  }

  #park(request: ModelRequest): void {
    this.running = this.running.filter((other) => other !== request)
    request.running = false
    request.blocks = this.#blocksOf(request.computed)
    this.#putBack(request)
    this.#order = null
  }

  #preempt(request: ModelRequest, draft: Draft): boolean {
    if (this.running.length < 2) return false
    const rank = (each: ModelRequest): number[] => [isPaused(each) ? 0 : 1, each.priority, -each.id]
    const victim = [...this.running].sort((a, b) => compare(rank(a), rank(b)))[0]!
    this.#unplace(victim, draft)
    this.#park(victim)
    this.preemptions++
    draft.preempted = true
    return victim !== request
  }
}

interface Draft {
  sequences: Planned[]
  refused: number[]
  tokens: number
  rows: number
  preempted: boolean
}

function compare(a: number[], b: number[]): number {
  const at = a.findIndex((value, index) => value !== b[index])
  return at < 0 ? 0 : a[at]! - b[at]!
}
