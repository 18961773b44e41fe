/** What `Engine.load` accepts, and how it is checked. */
import type { NativeDType, NativeKvDType, NativePrefixOptions } from '../native.js'
import { readPrefixOptions, type PrefixCacheOptions } from './prefix-options.js'
import { OptionReader } from './reader.js'
import {
  readTraceOptions,
  type TraceLevel,
  type TraceOptions,
  type TraceSettings,
} from './trace-options.js'
import { readTuneOptions, type TuneOptions, type TuneSettings } from './tune-options.js'

/** Bytes of a model that are in place, of all there are. */
export interface LoadProgress {
  doneBytes: number
  totalBytes: number
}

/** Ceilings on device memory. */
export interface MemoryOptions {
  /**
   * What octavo may hold on the device, everything included: up to 1 it is a fraction of the device's memory
   * (on the CPU: of the memory this process may use), above 1 it is bytes. Default 0.85. A hard ceiling: a
   * model that does not fit is refused with OCTAVO_OUT_OF_MEMORY before anything is taken.
   */
  limit?: number | undefined
  /**
   * Bytes of the KV cache. Default: what the limit leaves, but no more than `maxSequences` full contexts, and
   * on the CPU, whose memory others share, no more than 1 GiB or a quarter of the limit.
   */
  kv?: number | undefined
  /**
   * Bytes of page-locked host memory at most, the ring that weights stream through included. Default: what the load
   * needs, 64 MiB of ring at most. Such memory cannot be swapped or reclaimed, and control groups count it.
   */
  pinned?: number | undefined
  /** What is recorded of every allocation, for `engine.memorySnapshot()`. A level alone, or more. Default 0. */
  trace?: TraceLevel | TraceOptions | undefined
}

/** The layout of the KV cache. */
export interface KvOptions {
  /** Tokens a block: 16, 32 (default) or 64. */
  blockSize?: 16 | 32 | 64 | undefined
  /**
   * Number format of keys and values; 'auto' (default) is that of the activations. 'fp8_e4m3' and 'int8' (with a scale a
   * token and head) take a quarter of fp32, half of bf16, and cost precision.
   */
  dtype?: 'auto' | NativeKvDType | undefined
  /**
   * Whose KV goes when a request needs blocks that idle sessions hold: 'page-aware' (default) takes, among the 24
   * least recently used (at most half of them), first from those whose blocks empty the most pages, and up to 64 blocks
   * more than needed for that; 'lru' goes strictly by age. A session loses the end of what it holds: its next turn
   * computes that again, and its tokens are the same.
   */
  eviction?: 'page-aware' | 'lru' | undefined
}

/** How a model is loaded. Every field may be left out. */
export interface EngineOptions {
  /** 'auto' (default): the first CUDA device whose kernels run, else the CPU. Or 'cpu', 'cuda', 'cuda:1' … */
  device?: string | undefined
  /** CPU threads of the CPU device; 0 (default): every core this process may use. */
  threads?: number | undefined
  memory?: MemoryOptions | undefined
  kv?: KvOptions | undefined
  /**
   * true, or how: full KV blocks are shared by sessions whose prompts begin alike, and kept when no session holds
   * them, until their place is wanted. Default false: a session reuses its own KV alone, and leaves nothing.
   */
  prefixCache?: boolean | PrefixCacheOptions | undefined
  /** Number format of weights and activations. 'auto' (default): the checkpoint's on CUDA; fp32 arithmetic over the checkpoint's weights on the CPU. */
  dtype?: 'auto' | NativeDType | undefined
  /** Sequences that may run at once, never more than `maxBatchTokens`; further requests wait. Default 256. */
  maxSequences?: number | undefined
  /**
   * Tokens one step may process, prefill and decode together. Default 8192 on CUDA; 256 on the CPU, where an
   * abort or a dispose would otherwise wait minutes for the step it finds running. It caps `maxSequences`.
   */
  maxBatchTokens?: number | undefined
  /**
   * Which requests start. 'guaranteed' (default): those that can all end within the KV cache, whatever they generate;
   * none loses its KV while it runs. 'optimistic': those whose prompts fit; when blocks run out, the one of the lowest
   * priority, of equals the last to arrive, waits again and is recomputed.
   */
  admission?: 'guaranteed' | 'optimistic' | undefined
  /**
   * Where the weights come from. 'files' (default): the folder's. 'dummy': made at random on the device in the shapes
   * and formats that config.json gives, quantised ones too, so that a published model can be planned and measured
   * without its files; what it generates means nothing.
   */
  loadFormat?: 'files' | 'dummy' | undefined
  /** Of `loadFormat: 'dummy'`: the same seed makes the same weights on every device. Default 0. */
  dummySeed?: number | undefined
  /**
   * Milliseconds that a step in which somebody generates should take at most, so that tokens come as often: while steps take
   * longer, fewer tokens of prompts share them and fewer requests begin. Above 0. Default: where few prompts
   * wait they may make such a step take 1.8 times as long as it takes without them, and requests begin as there is memory.
   */
  targetInterTokenMs?: number | undefined
  /**
   * true: the next step is planned and launched while one runs, and takes the tokens it lacks from the device. The
   * tokens are the same; a request that ends by a stop token or an abort has computed one token for nothing, and
   * page-locked memory for uploads and samples is held twice. Default: on CUDA, not on the CPU.
   */
  overlap?: boolean | undefined
  /**
   * true: steps in which every sequence decodes one token are recorded as CUDA graphs, one a batch size, before the load
   * ends, and replayed with one call each; `engine.graphs()` reports them. A step runs in the smallest size that holds
   * it. The CPU records its operations too, which saves nothing there. Default: on CUDA, not on the CPU.
   */
  graphs?: boolean | undefined
  /**
   * true, or how: before the load ends, the ways to divide the model's products of 17 tokens and more among the card's
   * multiprocessors are measured, for 5 seconds at most, and the fastest are used; `engine.tuning()` reports them. Results
   * are kept in a file for the next load on such a card. Products of weights of codes are as ever, and nothing is measured
   * on the CPU. Default false: what is predicted to be the fastest is used.
   */
  tune?: boolean | TuneOptions | undefined
  /** Aborts the load: it rejects with the signal's reason and everything taken is given back. */
  signal?: AbortSignal | undefined
  /** Called as weights arrive. If it throws, the load is abandoned and rejects with that error. */
  onProgress?: ((progress: LoadProgress) => void) | undefined
}

/** EngineOptions with every default filled in; `limit` still as the caller gave it. */
export interface EngineSettings {
  device: string
  threads: number
  limit: number
  /** null: as large as the limit allows */
  kvBytes: number | null
  /** null: no ceiling */
  pinnedBytes: number | null
  trace: TraceSettings
  blockSize: number
  kvDType: NativeKvDType | null
  eviction: 'page-aware' | 'lru'
  /** null: none */
  prefix: NativePrefixOptions | null
  dtype: NativeDType | null
  maxSequences: number
  /** null: as the device takes them */
  maxBatchTokens: number | null
  admission: 'guaranteed' | 'optimistic'
  /** null: weights from files */
  dummySeed: number | null
  /** null: none */
  targetInterTokenMs: number | null
  /** null: as the device is used best */
  overlap: boolean | null
  graphs: boolean | null
  /** null: nothing is measured */
  tune: TuneSettings | null
  signal: AbortSignal | undefined
  onProgress: ((progress: LoadProgress) => void) | undefined
}

export const dtypeNames = ['auto', 'fp32', 'bf16', 'fp16'] as const
export const kvDTypeNames = [...dtypeNames, 'fp8_e4m3', 'int8'] as const
export const blockSizes = [16, 32, 64] as const
export const loadFormats = ['files', 'dummy'] as const
const admissions = ['guaranteed', 'optimistic'] as const
const evictionPolicies = ['page-aware', 'lru'] as const
export const isDevice = (text: string): boolean => /^(auto|cpu|cuda|cuda:\d{1,3})$/.test(text)

const auto = <D extends string>(dtype: D | 'auto' | undefined): D | null =>
  dtype === undefined || dtype === 'auto' ? null : dtype

function readDevice(read: OptionReader<EngineOptions>): string {
  const device = read.raw('device')
  if (device === undefined) return 'auto'
  if (typeof device === 'string' && isDevice(device)) return device
  throw read.invalid('device', `'auto', 'cpu', 'cuda' or 'cuda:N'`)
}

function readLimit(read: OptionReader<MemoryOptions>): number {
  const limit = read.number('limit', { above: 0, max: Number.MAX_SAFE_INTEGER }) ?? 0.85
  if (limit <= 1 || Number.isInteger(limit)) return limit
  throw read.invalid('limit', 'a fraction up to 1 or a whole number of bytes')
}

function readDummySeed(read: OptionReader<EngineOptions>): number | null {
  const format = read.oneOf('loadFormat', loadFormats) ?? 'files'
  const seed = read.integer('dummySeed', { min: 0, max: Number.MAX_SAFE_INTEGER })
  if (format === 'dummy') return seed ?? 0
  if (seed === undefined) return null
  throw read.invalid('dummySeed', "left out, or given with loadFormat 'dummy'")
}

/** Every option there is. */
export const engineOptionNames: Record<keyof EngineOptions, true> = {
  device: true,
  threads: true,
  memory: true,
  kv: true,
  prefixCache: true,
  dtype: true,
  maxSequences: true,
  maxBatchTokens: true,
  admission: true,
  loadFormat: true,
  dummySeed: true,
  targetInterTokenMs: true,
  overlap: true,
  graphs: true,
  tune: true,
  signal: true,
  onProgress: true,
}

/** Throws OCTAVO_UNKNOWN_OPTION and OCTAVO_INVALID_ARGUMENT. */
export function readEngineOptions(options: unknown): EngineSettings {
  const read = new OptionReader<EngineOptions>(options, engineOptionNames)
  const memory = new OptionReader<MemoryOptions>(
    read.raw('memory'),
    { limit: true, kv: true, pinned: true, trace: true },
    'memory',
  )
  const kv = new OptionReader<KvOptions>(
    read.raw('kv'),
    { blockSize: true, dtype: true, eviction: true },
    'kv',
  )
  return {
    device: readDevice(read),
    threads: read.integer('threads', { min: 0, max: 1024 }) ?? 0,
    limit: readLimit(memory),
    kvBytes: memory.integer('kv', { min: 1 }) ?? null,
    pinnedBytes: memory.integer('pinned', { min: 1 }) ?? null,
    trace: readTraceOptions(memory.raw('trace')),
    blockSize: kv.oneOf('blockSize', blockSizes) ?? 32,
    kvDType: auto(kv.oneOf('dtype', kvDTypeNames)),
    eviction: kv.oneOf('eviction', evictionPolicies) ?? 'page-aware',
    prefix: readPrefixOptions(read.raw('prefixCache')),
    dtype: auto(read.oneOf('dtype', dtypeNames)),
    maxSequences: read.integer('maxSequences', { min: 1, max: 65536 }) ?? 256,
    maxBatchTokens: read.integer('maxBatchTokens', { min: 1, max: 1048576 }) ?? null,
    admission: read.oneOf('admission', admissions) ?? 'guaranteed',
    dummySeed: readDummySeed(read),
    targetInterTokenMs: read.number('targetInterTokenMs', { above: 0, max: 3_600_000 }) ?? null,
    overlap: read.boolean('overlap') ?? null,
    graphs: read.boolean('graphs') ?? null,
    tune: readTuneOptions(read.raw('tune')),
    signal: read.signal('signal'),
    onProgress: read.callback<(progress: LoadProgress) => void>('onProgress'),
  }
}
