/** The low-level SDK: devices, typed buffers and every kernel as a function. */
import { loadNative, type NativeLiveObjects as LiveObjects } from '../native.js'
import { callOps } from './load.js'

export { OctavoError } from '../errors.js'
export { Device } from './device.js'
export type { DeviceOptions } from './device.js'
export { DeviceBuffer } from './buffer.js'
export { bytesOf, decode, encode, fromBf16, fromFp16, toBf16, toFp16 } from './dtype.js'
export type { ArrayOf, DType, FloatDType } from './dtype.js'
export type { Int32s, Int64s } from './indices.js'
export type { HeadsArgument, HeadsView, MatrixArgument, MatrixView, Shape } from './shape.js'
export type { NativeMemoryUse as DeviceMemoryUse, NativeWorkspace as Workspace } from './native.js'
export type {
  CounterFigures,
  Fragmentation,
  MemoryStatistics,
  PoolFigures,
} from '../memory-statistics.js'
export { cudaStatus, listDevices } from '../devices.js'
export type { CudaStatus, DeviceInfo } from '../devices.js'
export type { NativeLedgerLine as LedgerLine, NativeLiveObjects as LiveObjects } from '../native.js'
export {
  add,
  addRmsNorm,
  convert,
  embedding,
  gatherRows,
  headNorm,
  linear,
  rmsNorm,
  swiglu,
} from './rows.js'
export type { FloatBuffer } from './rows.js'
export { fusedLinear } from './fused.js'
export type { FusedLinearOptions } from './fused.js'
export { dequantize, groupedLinear, quantizedLinear } from './quantized.js'
export type { ExpertRows } from './quantized.js'
export { QuantizedWeight } from './quantized-weight.js'
export type { CodeType } from '../code-type.js'
export type { ActivationQuantization, StoredWeight } from './stored-weight.js'
export { pagedAttention, rope } from './attention.js'
export type { AttentionOptions, RopeOptions } from './attention.js'
export { kvBlockBytes } from './kv-cache.js'
export type {
  CodedKvCache,
  CodedKvShape,
  KvCacheArgument,
  KvCacheBuffer,
  KvCodeType,
} from './kv-cache.js'
export { copyBlocks, kvWrite, ropeKvWrite } from './kv-write.js'
export { ropeAttention } from './rope-attention.js'
export type { RopeAttentionOptions } from './rope-attention.js'
export type { BlocksArgument, KvScaleOptions, RopeKvWriteOptions, Step } from './kv-write.js'
export { expandedAttention, latentAttention, latentRead, latentWrite } from './latent.js'
export type {
  ExpandedAttentionOptions,
  LatentAttentionOptions,
  LatentCacheBuffer,
} from './latent.js'
export { fillRandom } from './random.js'
export type { RandomOptions } from './random.js'
export { sample } from './sampling.js'
export type { Samples, SamplingOptions } from './sampling.js'

/** Live native objects of this thread: 0 everywhere after the last dispose. */
export function liveObjects(): LiveObjects {
  return callOps(() => loadNative().liveObjects())
}
