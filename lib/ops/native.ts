/** The shape of `addon.ops`: handles are numbers, views and options plain objects. Every throw has a `code`. */
import type { Fragmentation, MemoryStatistics } from '../memory-statistics.js'
import type { NativeDeviceInfo, NativeLedgerLine } from '../native.js'
import type { NativeTile, NativeTuned } from '../native-tuning.js'
import type { FloatDType } from './dtype.js'

export interface NativeMemoryUse {
  freeBytes: number
  totalBytes: number
  processBytes: number | null
}

/** Offsets and strides in elements. */
export interface NativeMatrix {
  buffer: number
  dtype: FloatDType
  offset: number
  rows: number
  columns: number
  stride: number
}

export interface NativeVector {
  buffer: number
  dtype: FloatDType
  offset: number
  size: number
}

export interface NativeHeads {
  buffer: number
  dtype: FloatDType
  offset: number
  tokens: number
  heads: number
  dim: number
  tokenStride: number
}

export interface NativeKvCache {
  buffer: number
  dtype: FloatDType | 'fp8_e4m3' | 'int8'
  /** 'none' for floats */
  scaling: 'none' | 'tensor' | 'head' | 'token'
  offset: number
  blocks: number
  layers: number
  kvHeads: number
  blockSize: number
  headDim: number
}

export interface NativeLatentCache {
  buffer: number
  dtype: FloatDType
  offset: number
  blocks: number
  layers: number
  blockSize: number
  width: number
}

/** What goes into a cache, where, and with what scales. */
export interface NativeKvWrite {
  cache: NativeKvCache
  layer: number
  key: NativeHeads
  value: NativeHeads
  slots: BigInt64Array
  keyScale: number
  valueScale: number
  keyHeadScales: NativeVector | null
  valueHeadScales: NativeVector | null
}

export interface NativeRopeKvWrite extends NativeKvWrite {
  query: NativeHeads
  positions: Int32Array
  inverseFrequencies: Float32Array
  magnitude: number
  queryNorm: NativeVector | null
  keyNorm: NativeVector | null
  epsilon: number
}

export interface NativeAttention {
  out: NativeHeads
  query: NativeHeads
  cache: NativeKvCache
  layer: number
  queryStart: Int32Array
  contextLength: Int32Array
  blockTable: Int32Array
  scale: number
  window: number
  softCap: number
  sinks: NativeVector | null
  logSumExp: NativeMatrix | null
  keyScale: number
  valueScale: number
}

/** Handles of its buffers; see cpp/ops/quantized_matrix.h. */
export interface NativeQuantizedWeight {
  codeType: string
  rows: number
  columns: number
  groupRows: number
  groupColumns: number
  scaleType: FloatDType
  codes: number
  scales: number
  zeros: number | null
  groupIndex: number | null
  isArranged: boolean
  activations: { scaling: string; group?: number; inputScale?: number } | null
}

/** A piece of a stored tensor on its way; see cpp/ops/repack.h. `from` and `to` are handles of buffers. */
export interface NativeRepack {
  kind: 'rows' | 'transpose' | 'repeat' | 'awqCodes' | 'awqZeros' | 'gptqZeros' | 'packedZeros'
  from: number
  firstRow: number
  rows: number
  columns: number
  width: number
  bits: number
  zeroOffset: number
  to: number
  stride: number
  count: number
}

/** See cpp/ops/random_fill.h. `to` is the handle of a buffer, filled from its beginning. */
export interface NativeRandomFill {
  to: number
  dtype: FloatDType | 'u8'
  kind: 'uniform' | 'bits' | 'e4m3'
  first: number
  count: number
  seed: bigint
  middle: number
  reach: number
}

export interface NativeSamplingRow {
  temperature: number
  topK: number
  topP: number
  minP: number
  repetitionPenalty: number
  frequencyPenalty: number
  presencePenalty: number
  position: number
  seed: bigint
  historyTokens: Int32Array
  historyCounts: Int32Array
  biasTokens: Int32Array
  biasValues: Float32Array
}

export interface NativeSamples {
  tokens: Int32Array
  logprobs: Float32Array
  topTokens: Int32Array
  topLogprobs: Float32Array
}

/** What the cache of a device's buffers counts. */
export interface NativeWorkspace {
  statistics: MemoryStatistics
  fragmentation: Fragmentation
}

export interface NativeOps {
  open(fields: { id: string; threads: number }): number
  /** False when it was closed before. */
  close(fields: { device: number }): boolean
  deviceInfo(fields: { device: number }): NativeDeviceInfo
  deviceMemoryUse(fields: { device: number }): NativeMemoryUse
  deviceLedger(fields: { device: number }): NativeLedgerLine[]
  deviceWorkspace(fields: { device: number }): NativeWorkspace
  synchronize(fields: { device: number }): void
  createBuffer(fields: { device: number; bytes: number; tag: string }): number
  /** False when it was gone before. */
  destroyBuffer(fields: { buffer: number }): boolean
  writeBuffer(fields: { buffer: number; offset: number; bytes: Uint8Array }): void
  readBuffer(fields: { buffer: number; offset: number; bytes: Uint8Array }): void
  fillBuffer(fields: { buffer: number; offset: number; count: number; value: number }): void

  convert(device: number, call: { out: NativeMatrix; from: NativeMatrix }): void
  embedding(
    device: number,
    call: { out: NativeMatrix; tokens: Int32Array; table: NativeMatrix },
  ): void
  gatherRows(
    device: number,
    call: { out: NativeMatrix; from: NativeMatrix; rows: Int32Array },
  ): void
  rmsNorm(
    device: number,
    call: { out: NativeMatrix; x: NativeMatrix; weight: NativeVector; epsilon: number },
  ): void
  addRmsNorm(
    device: number,
    call: {
      out: NativeMatrix
      residual: NativeMatrix
      x: NativeMatrix
      weight: NativeVector
      epsilon: number
    },
  ): void
  add(device: number, call: { y: NativeMatrix; x: NativeMatrix }): void
  headNorm(
    device: number,
    call: { heads: NativeHeads; weight: NativeVector; epsilon: number },
  ): void
  linear(
    device: number,
    call: { out: NativeMatrix; x: NativeMatrix; weight: NativeMatrix; bias: NativeVector | null },
  ): void
  quantizedLinear(
    device: number,
    call: {
      out: NativeMatrix
      x: NativeMatrix
      weight: NativeQuantizedWeight
      bias: NativeVector | null
    },
  ): void
  /** Of `weight` and `codes` one is given. */
  fusedLinear(
    device: number,
    call: {
      out: NativeMatrix
      x: NativeMatrix
      weight: NativeMatrix | null
      codes: NativeQuantizedWeight | null
      bias: NativeVector | null
      norm: NativeVector | null
      epsilon: number
      end: 'store' | 'add' | 'swiglu'
    },
  ): void
  groupedLinear(
    device: number,
    call: {
      out: NativeMatrix
      x: NativeMatrix
      weight: NativeQuantizedWeight
      first: Int32Array
      rows: Int32Array
    },
  ): void
  fillRandom(device: number, call: NativeRandomFill): void
  dequantize(device: number, call: { out: NativeMatrix; weight: NativeQuantizedWeight }): void
  repack(device: number, call: NativeRepack): void
  /** Puts a complete weight in the order that the device multiplies fastest; whether it did. */
  arrange(device: number, call: { weight: NativeQuantizedWeight }): boolean
  rope(
    device: number,
    call: {
      query: NativeHeads
      key: NativeHeads
      positions: Int32Array
      inverseFrequencies: Float32Array
      magnitude: number
    },
  ): void
  kvWrite(device: number, call: NativeKvWrite): void
  ropeKvWrite(device: number, call: NativeRopeKvWrite): void
  /** `to` and `from` are handles of buffers, `copies` pairs of (from, to). */
  copyBlocks(
    device: number,
    call: {
      to: number
      from: number
      blockBytes: number
      toBlocks: number
      fromBlocks: number
      copies: Int32Array
    },
  ): void
  pagedAttention(device: number, call: NativeAttention): void
  ropeAttention(device: number, call: NativeAttention & NativeRopeKvWrite): void
  latentWrite(
    device: number,
    call: { cache: NativeLatentCache; layer: number; rows: NativeMatrix; slots: BigInt64Array },
  ): void
  latentRead(
    device: number,
    call: { out: NativeMatrix; cache: NativeLatentCache; layer: number; slots: BigInt64Array },
  ): void
  latentAttention(
    device: number,
    call: {
      out: NativeHeads
      query: NativeHeads
      cache: NativeLatentCache
      layer: number
      queryStart: Int32Array
      contextLength: Int32Array
      blockTable: Int32Array
      scale: number
    },
  ): void
  expandedAttention(
    device: number,
    call: {
      out: NativeHeads
      query: NativeHeads
      keyValue: NativeHeads
      ropeKey: NativeMatrix
      queryStart: Int32Array
      contextLength: Int32Array
      keyStart: Int32Array
      scale: number
    },
  ): void
  /** The ways to divide a dense product of x of 16 bits, the one in use first; none on the CPU. */
  linearTiles(device: number, call: { rows: number; columns: number; depth: number }): NativeTile[]
  /** Measures them and uses the fastest. null: nothing to choose, or not in so many seconds. */
  tuneLinear(
    device: number,
    call: { out: NativeMatrix; x: NativeMatrix; weight: NativeMatrix; seconds: number },
  ): (NativeTuned & { tried: number }) | null
  /** Uses what was measured before; false where the shape cannot be divided so. */
  keepTuned(device: number, tuned: NativeTuned): boolean
  swiglu(device: number, call: { out: NativeMatrix; gateUp: NativeMatrix }): void
  sample(
    device: number,
    call: { logits: NativeMatrix; sampled: number; topCount: number; params: NativeSamplingRow[] },
  ): NativeSamples
}
