/** The one door to the addon: its shape, and how it is found. */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { NativeGraphs } from './native-graphs.js'
import type { NativeTuneOptions, NativeTuning } from './native-tuning.js'
import type { NativeAudit } from './audit.js'
import type { HostMemory } from './host.js'
import { checkAddon, notFound } from './native-check.js'
import type { Fragmentation, MemoryStatistics } from './memory-statistics.js'
import type {
  NativeLeakReport,
  NativeSnapshot,
  NativeSpill,
  NativeTraceOptions,
} from './native-trace.js'
import type {
  NativeSession,
  NativeSessionInfo,
  NativeSessionOptions,
  NativeStages,
} from './native-session.js'
import type { NativeOps } from './ops/native.js'
import type { NativePlan } from './plan.js'
import type { NativeStepTimes } from './step-times.js'

/** Numbers are JS numbers unless noted; ids fit 53 bits. Every native throw is an Error with `code`. */
export interface NativeDeviceInfo {
  id: string
  name: string
  computeMajor: number
  computeMinor: number
  multiprocessors: number
  totalBytes: number
  driverVersion: number
}

export interface NativeCudaStatus {
  built: boolean
  driverVersion: number
  runtimeVersion: number
  architectures: string
  problem: string
}

export interface NativeRope {
  inverseFrequencies: Float32Array
  magnitude: number
}

export interface NativeLayer {
  attention: {
    heads: number
    kvHeads: number
    headDim: number
    scale: number
    window: number
    rope: number
    qkvBias: boolean
    outputBias: boolean
    queryKeyNorm: boolean
  }
  mlp: { intermediateSize: number; bias: boolean }
}

/** Mirrors cpp/model/model_spec.h. */
export interface NativeModelSpec {
  family: string
  vocabularySize: number
  sampledVocabulary: number
  hiddenSize: number
  contextLength: number
  normEpsilon: number
  tiedEmbeddings: boolean
  ropes: NativeRope[]
  layers: NativeLayer[]
}

export type NativeDType = 'fp32' | 'bf16' | 'fp16'

/** Number formats of the KV cache: floats, and on the CPU 8-bit codes. */
export type NativeKvDType = NativeDType | 'fp8_e4m3' | 'int8'

/** Words and bytes of codes are i32 and u8. */
export type NativeStoredDType = NativeDType | 'i32' | 'i64' | 'u8'

/** Mirrors cpp/model/stored_tensor.h. */
export interface NativeStoredTensor {
  file: number
  offset: number
  bytes: number
  dtype: NativeStoredDType
  shape: number[]
}

/** What stands beside the codes of a part, and what all of it means. */
export interface NativeQuantizedSource {
  layout: 'gptq' | 'awq' | 'rows'
  codeType: string
  rows: number
  columns: number
  groupRows: number
  groupColumns: number
  zeroOffset: number
  activations: { scaling: string; group: number }
  scales: NativeStoredTensor
  zeros: NativeStoredTensor | null
  groupIndex: NativeStoredTensor | null
  inputScale: NativeStoredTensor | null
  storedShape: NativeStoredTensor | null
}

/** A tensor of floats, or codes. */
export interface NativeWeightPart extends NativeStoredTensor {
  quantized?: NativeQuantizedSource
}

/** Mirrors cpp/model/weights.h. */
export interface NativeWeightManifest {
  files: string[]
  entries: { name: string; parts: NativeWeightPart[] }[]
  /** Weights at random; there are no files then. */
  dummySeed?: number
}

/** Mirrors PrefixOptions of cpp/kv/prefix_cache.h; absent: nothing is found or kept. */
export interface NativePrefixOptions {
  eviction: 'lru-2' | 'lru'
  /** of the pool's capacity that blocks without a holder may have */
  share: number
  retentionMs: number
  correlatedUses: number
}

/** Blocks, and since the load counts of prompts, tokens and blocks; see PrefixReport there. */
export interface NativePrefixReport {
  enabled: boolean
  blocks: number
  cached: number
  shared: number
  history: number
  queries: number
  queryTokens: number
  sessionTokens: number
  hitTokens: number
  evicted: number
  merged: number
  copied: number
}

export interface NativeEngineOptions {
  maxSequences: number
  /** absent, also the dtypes: see cpp/engine/engine.h */
  maxBatchTokens?: number | undefined
  blockSize: number
  dtype?: NativeDType
  kvDType?: NativeKvDType
  eviction?: 'page-aware' | 'lru'
  admission?: 'guaranteed' | 'optimistic'
  /** Of a step in which somebody decodes; absent: as long as it takes. */
  targetInterTokenMs?: number
  prefix?: NativePrefixOptions
  overlap?: boolean
  graphs?: boolean
  /** absent: nothing is measured */
  tune?: NativeTuneOptions
  memoryLimit: number
  kvBytes: number
  trace?: NativeTraceOptions
  /** absent: no ceiling on pinned host memory */
  pinnedLimit?: number
  /** Faults and slowness on purpose, for tests: see EngineTesting in cpp/engine/engine.h. */
  testing?: {
    failAllocation?: number
    failChunk?: number
    failStep?: number
    failGraph?: number
    stepMicroseconds?: number
    warmUp?: boolean
    contextGrowth?: number
    hostRoot?: string
    leakBytes?: number
    /** Up to and without step `kvPagesUntil` there is memory for so many KV pages alone. */
    kvPages?: number
    kvPagesUntil?: number
    /** The KV cache as on a device that cannot map pages: all of it held from the load. */
    inelasticKv?: boolean
    /** Region pinned may hold as much beyond its plan, in buffers that are kept. */
    pinnedSpare?: number
    /** Without a request, until KV pages without a block and kept pinned buffers go back. */
    idleMilliseconds?: number
    /** Every so many steps all invariants are checked. */
    checkSteps?: number
    /** No step is ever planned. */
    neverPlan?: boolean
    /** For `plantViolation`. */
    mayPlant?: boolean
    /** Time stands still until `advanceClock`. */
    fakeClock?: boolean
    /** With it: that a step, and each token of it, take. */
    fakeStepMicroseconds?: number
    fakeTokenMicroseconds?: number
  }
}

export interface NativeRequest {
  prompt: Int32Array
  maxNewTokens: number
  temperature: number
  topK: number
  topP: number
  minP: number
  repetitionPenalty: number
  frequencyPenalty: number
  presencePenalty: number
  seed: bigint
  biasTokens: Int32Array
  biasValues: Float32Array
  stopTokens: Int32Array
  topLogprobs: number
  score: boolean
  /** The higher goes first; 0 where absent. */
  priority?: number
  /** absent: the session's */
  stages?: NativeStages
  credits: number
  /** Of this prompt, 1 where absent; those after the first have the ids that follow its own, and seed + 1, + 2 … */
  samples?: number
}

/** All tokens since the last call, as parallel arrays, then what ended. */
export interface NativeEvents {
  requests: Float64Array
  tokens: Int32Array
  logprobs: Float32Array
  /** per token, or null where its request asked for none */
  top: ({ tokens: Int32Array; logprobs: Float32Array } | null)[] | null
  finished: NativeFinish[]
}

export interface NativeFinish {
  request: number
  reason: 'eos' | 'length' | 'cancelled' | 'failed'
  code: string
  message: string
  promptTokens: number
  cachedTokens: number
  outputTokens: number
  /** nanoseconds of a monotonic clock; 0 where not reached */
  timings: { submitted: number; admitted: number; firstToken: number; finished: number }
  logits: Float32Array | null
}

export interface NativeLedgerLine {
  region: 'weights' | 'kv' | 'graph' | 'workspace' | 'pinned'
  ownerKind: 'engine' | 'session' | 'request' | 'adapter' | 'graph'
  ownerId: number
  tag: string
  bytes: number
  peakBytes: number
  count: number
}

/** Mirrors BatchReport of cpp/engine/batch_sizer.h. */
export interface NativeBatch {
  sequences: number
  tokens: number
  promptTokens: number
  memorySequences: number
  expectedTokens: number
  lowered: number
  raised: number
  late: number
}

export interface NativeReport {
  lines: NativeLedgerLine[]
  regions: {
    region: NativeLedgerLine['region']
    limitBytes: number
    allocatedBytes: number
    allocatedPeakBytes: number
    allocations: number
    frees: number
    failures: number
    statistics: MemoryStatistics
    fragmentation: Fragmentation
  }[]
  driver: { freeBytes: number; totalBytes: number; processBytes: number | null }
  limit: number
  contextBytes: number
  blocksTotal: number
  blocksFree: number
  blocksOwned: number
  blocksInFlight: number
  /** Below the total after the device refused a page. */
  blocksCapacity: number
  blockBytes: number
  pages: {
    mapped: number
    used: number
    packed: number
    mappedBytes: number
    liveBytes: number
    stuckBytes: number
  }
  /** Blocks out of circulation, sessions that ended for it, and why. */
  quarantine: { blocks: number; sessions: number; violations: string[] }
  compaction: {
    slices: number
    moves: number
    bytes: number
    pagesFreed: number
    longestNanoseconds: number
    nanoseconds: number
  }
  eviction: { sessions: number; blocks: number; tokens: number; pages: number }
  prefix: NativePrefixReport
  /** of weights, that stay in their files */
  mappedBytes: number
  sessions: NativeSession[]
  running: number
  waiting: number
  preemptions: number
  stalls: number
  batch: NativeBatch
  /** steps launched while the one before was in flight */
  overlapped: number
  steps: number
  stepTimes: NativeStepTimes
  host: HostMemory
}

/** What shall fit beyond loading; 0 tokens: nothing. */
export interface NativePlanDemand {
  contextTokens: number
  sessions: number
}

export interface NativePlanRequest {
  device: string
  /** The memory of a device that is not asked. */
  stated?: { totalBytes: number; contextBytes?: number }
  spec: NativeModelSpec
  manifest: NativeWeightManifest
  options: NativeEngineOptions
  demand: NativePlanDemand
}

export interface NativeEngine {
  readonly deviceId: string
  createSession(options?: NativeSessionOptions): number
  /** Renews a lease. Throws OCTAVO_LEASE_EXPIRED when it comes too late. */
  heartbeat(session: number): void
  sessions(): NativeSessionInfo[]
  /** Of an engine loaded with `testing.fakeClock`. */
  advanceClock(milliseconds: number): void
  /**
   * Of an engine loaded with `testing.mayPlant`: breaks an invariant on purpose. The last block of `session` stands in
   * the table of `other` too, or its first is free, or listed as in flight, while it holds it.
   */
  plantViolation(kind: 'double' | 'freed' | 'listed', session: number, other: number): void
  /** A session that holds what an idle one does, in the same blocks. Throws OCTAVO_SESSION_BUSY. */
  forkSession(session: number): number
  /** Synchronous part done on return; the promise settles when the fence has passed. */
  disposeSession(session: number): Promise<void>
  /** Gives back every KV block that no session holds. */
  clearPrefixCache(): void
  /** Moves KV blocks together between steps and gives free pages back; settles when that is done. */
  compact(): Promise<void>
  graphs(): NativeGraphs
  tuning(): NativeTuning
  submit(session: number, request: NativeRequest): number
  cancel(request: number): void
  grant(request: number, tokens: number): void
  report(): NativeReport
  plan(demand: NativePlanDemand): NativePlan
  /** Blocks for at most one step, with overlap two. */
  audit(): NativeAudit
  /** Reads the host's memory now, in between the readings of the thread. */
  pollHost(): void
  /** Throws OCTAVO_INTERNAL when an invariant is broken. */
  check(): void
  snapshot(): NativeSnapshot
  /** 0 … 3. Throws OCTAVO_IO_FAILED when the spill file cannot be made. */
  setTraceLevel(level: number): void
  /** The spill file so far, flushed. */
  traceSpill(): NativeSpill
  leaks(): NativeLeakReport
  /** Idempotent. Blocks at most one step, with overlap two; memory is free on return; later calls throw OCTAVO_DISPOSED. */
  dispose(): void
  /** The same without blocking the JS thread. */
  disposeAsync(): Promise<void>
}

export interface NativeLoad {
  device: string
  threads: number
  spec: NativeModelSpec
  manifest: NativeWeightManifest
  options: NativeEngineOptions
  onProgress: (doneBytes: number, totalBytes: number) => void
  onEvents: (events: NativeEvents) => void
}

/** Native objects of this environment that are alive. */
export interface NativeLiveObjects {
  /** loading or loaded */
  engines: number
  /** opened through octavo/ops, and their buffers */
  devices: number
  buffers: number
  /** of every device, an engine's too */
  streams: number
  events: number
  graphs: number
  /** page-locked host buffers */
  pinned: number
}

/** What the addon exports. */
export interface NativeAddon {
  readonly version: string
  readonly buildInfo: { cuda: boolean; architectures: string; compiler: string; sanitizer: boolean }
  cudaStatus(): NativeCudaStatus
  listDevices(): NativeDeviceInfo[]
  /** Memory of a device now (bytes), without an engine. */
  memoryUse(device: string): { freeBytes: number; totalBytes: number; processBytes: number | null }
  /** `cancel()` makes the promise reject with OCTAVO_CANCELLED at the next chunk. */
  loadEngine(load: NativeLoad): { promise: Promise<NativeEngine>; cancel: () => void }
  /** Takes no memory; opens the device for its figures unless they are stated. */
  planMemory(request: NativePlanRequest): NativePlan
  /** 0 everywhere after the last dispose (tests assert it). */
  liveObjects(): NativeLiveObjects
  /** The low-level SDK. */
  readonly ops: NativeOps
}

const packageRoot = join(__dirname, '..')
const requireFrom = createRequire(__filename)

let addon: NativeAddon | undefined

/**
 * The addon, loaded on the first call: a local build (`build/Release`) first, then the prebuilt binary of
 * this platform; in the folder that OCTAVO_PREBUILD names, or in the package. Throws OCTAVO_NATIVE_MISSING,
 * saying what was looked for and what to do.
 */
export function loadNative(): NativeAddon {
  addon ??= findAddon()
  return addon
}

/** The search of `loadNative`, anew at every call. */
export function findAddon(): NativeAddon {
  const { version } = requireFrom(join(packageRoot, 'package.json')) as { version: string }
  let found: Partial<NativeAddon>
  try {
    const load = requireFrom('node-gyp-build') as (folder: string) => Partial<NativeAddon>
    found = load(packageRoot)
  } catch (cause) {
    throw notFound(cause)
  }
  return checkAddon(found, version)
}
