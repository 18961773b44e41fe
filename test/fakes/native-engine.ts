/** A scripted native engine: the test decides when tokens and terminal events arrive. */
import type { HostMemory } from '../../lib/host.js'
import type {
  NativeEngine,
  NativeEvents,
  NativeFinish,
  NativeReport,
  NativeRequest,
} from '../../lib/native.js'
import type { NativePlan } from '../../lib/plan.js'
import type { NativeGraphs } from '../../lib/native-graphs.js'
import type { NativeTuning } from '../../lib/native-tuning.js'
import type { NativeLeakReport, NativeSpill } from '../../lib/native-trace.js'

interface Submitted extends NativeRequest {
  id: number
  session: number
  credits: number
}

/** A host with nothing to do. */
export const calmHost: HostMemory = {
  totalBytes: 0,
  freeBytes: 0,
  residentBytes: 0,
  someStall: 0,
  fullStall: 0,
  highEvents: 0,
  maxEvents: 0,
  oomKills: 0,
  level: 'none',
  events: [],
}

export class FakeNativeEngine implements NativeEngine {
  readonly deviceId = 'cpu'
  readonly submitted: Submitted[] = []
  readonly cancelled: number[] = []
  readonly disposedSessions: number[] = []
  disposals = 0
  /** Thrown by submit, while set. */
  refusal: Error | null = null
  onEvents: (events: NativeEvents) => void = () => {}
  #nextSession = 1
  #nextRequest = 1

  createSession(): number {
    return this.#nextSession++
  }

  heartbeat(): void {}

  sessions(): never {
    throw new Error('the fake lists no sessions')
  }

  advanceClock(): void {}

  plantViolation(): void {}

  forkSession(): number {
    return this.#nextSession++
  }

  disposeSession(session: number): Promise<void> {
    this.disposedSessions.push(session)
    return Promise.resolve()
  }

  clearPrefixCache(): void {}

  graphs(): NativeGraphs {
    return { enabled: false, buckets: [], fallbacks: 0, launches: 0, captureMs: 0 }
  }

  /** What `tuning` says. */
  tuned: NativeTuning = {
    enabled: false,
    card: 'a card',
    multiprocessors: 4,
    seconds: 0,
    entries: [],
    unfinished: 0,
  }

  tuning(): NativeTuning {
    return this.tuned
  }

  compact(): Promise<void> {
    return Promise.resolve()
  }

  submit(session: number, request: NativeRequest): number {
    if (this.refusal !== null) throw this.refusal
    const id = this.#nextRequest
    this.#nextRequest += request.samples ?? 1
    for (let each = id; each < this.#nextRequest; each++) {
      this.submitted.push({ ...request, id: each, session })
    }
    return id
  }

  cancel(request: number): void {
    this.cancelled.push(request)
  }

  grant(request: number, tokens: number): void {
    this.request(request).credits += tokens
  }

  report(): NativeReport {
    return {
      lines: [],
      regions: [],
      driver: { freeBytes: 0, totalBytes: 0, processBytes: null },
      limit: 0,
      contextBytes: 0,
      blocksTotal: 0,
      blocksFree: 0,
      blocksOwned: 0,
      blocksInFlight: 0,
      blocksCapacity: 0,
      pages: { mapped: 0, used: 0, packed: 0, mappedBytes: 0, liveBytes: 0, stuckBytes: 0 },
      quarantine: { blocks: 0, sessions: 0, violations: [] },
      compaction: {
        slices: 0,
        moves: 0,
        bytes: 0,
        pagesFreed: 0,
        longestNanoseconds: 0,
        nanoseconds: 0,
      },
      eviction: { sessions: 0, blocks: 0, tokens: 0, pages: 0 },
      prefix: {
        enabled: false,
        blocks: 0,
        cached: 0,
        shared: 0,
        history: 0,
        queries: 0,
        queryTokens: 0,
        sessionTokens: 0,
        hitTokens: 0,
        evicted: 0,
        merged: 0,
        copied: 0,
      },
      blockBytes: 0,
      mappedBytes: 0,
      sessions: [],
      running: 0,
      waiting: 0,
      preemptions: 0,
      stalls: 0,
      batch: {
        sequences: 0,
        tokens: 0,
        promptTokens: 0,
        memorySequences: 0,
        expectedTokens: 0,
        lowered: 0,
        raised: 0,
        late: 0,
      },
      overlapped: 0,
      steps: 0,
      stepTimes: { plan: 0, upload: 0, launch: 0, wait: 0, book: 0, tell: 0 },
      host: calmHost,
    }
  }

  /** Of the KV cache alone. */
  plan(): NativePlan {
    const kv = {
      dtype: 'fp32',
      blockSize: 16,
      blockBytes: 32,
      tokenBytes: 2,
      blocks: 100,
      tokens: 1600,
    }
    return { kv } as NativePlan
  }

  audit(): never {
    throw new Error('the fake has no audit')
  }

  pollHost(): void {}

  check(): void {}

  snapshot(): never {
    throw new Error('no memory is traced here')
  }

  readonly levels: number[] = []

  setTraceLevel(level: number): void {
    this.levels.push(level)
  }

  /** The sentence that a stopped spill file gives. */
  spillProblem = ''

  traceSpill(): NativeSpill {
    return { path: '', bytes: 0, lines: 0, dropped: 0, problem: this.spillProblem }
  }

  leaks(): NativeLeakReport {
    return { leaks: [], nowNs: 0, streams: 0, events: 0, graphs: 0, pinned: 0, pinnedKept: 0 }
  }

  dispose(): void {
    this.disposals++
  }

  disposeAsync(): Promise<void> {
    this.disposals++
    return Promise.resolve()
  }

  request(id: number): Submitted {
    const found = this.submitted.find((request) => request.id === id)
    if (found === undefined) throw new Error(`no request ${id}`)
    return found
  }

  /** One event batch; tokens spend credits as the real engine's do. */
  emit(id: number, tokens: number[], finish?: Partial<NativeFinish>): void {
    this.request(id).credits -= tokens.length
    this.onEvents({
      requests: Float64Array.from(tokens, () => id),
      tokens: Int32Array.from(tokens),
      logprobs: Float32Array.from(tokens, (token) => -token),
      top: null,
      finished: finish === undefined ? [] : [finishEvent(id, finish)],
    })
  }

  finish(id: number, finish: Partial<NativeFinish> = {}): void {
    this.emit(id, [], finish)
  }
}

export function finishEvent(request: number, finish: Partial<NativeFinish> = {}): NativeFinish {
  return {
    request,
    reason: 'length',
    code: '',
    message: '',
    promptTokens: 3,
    cachedTokens: 1,
    outputTokens: 2,
    timings: { submitted: 1e6, admitted: 2e6, firstToken: 5e6, finished: 9e6 },
    logits: null,
    ...finish,
  }
}
