/**
 * octavo: an LLM inference engine for Node.js, in which every byte of device memory has a named owner, a
 * stated limit and a known moment of release.
 *
 * @packageDocumentation
 */
import './polyfill.js'

export type { GraphBucket, GraphReport } from './graphs.js'
export { Engine, type LogitsOptions, type MemoryReportOptions } from './engine.js'
export type { HostEvent, HostMemory } from './host.js'
export type { AuditRegion, MemoryAudit } from './audit.js'
// Types alone: an engine makes the one, a session the other.
export type { Session } from './session.js'
export type { Generation } from './generation.js'
export { OctavoError, errorCodes, type ErrorCode } from './errors.js'
export { listDevices, cudaStatus, type CudaStatus, type DeviceInfo } from './devices.js'
export type { Model } from './model.js'
export type { NativeDType, NativeKvDType } from './native.js'
export type {
  EngineOptions,
  KvOptions,
  LoadProgress,
  MemoryOptions,
} from './options/engine-options.js'
export type { PrefixCacheOptions } from './options/prefix-options.js'
export type { TuneOptions } from './options/tune-options.js'
export type { TilePlan, TunedProduct, TuningReport } from './tuning.js'
export type {
  HeartbeatOptions,
  QuotaOptions,
  SessionOptions,
  TimeoutOptions,
} from './options/session-options.js'
export type { SessionInfo } from './session-info.js'
export type { AssumedMemory, PlanOptions } from './options/plan-options.js'
export type { MemoryPlan, PlanItem, PlanMisfit } from './plan.js'
export type { TraceLevel, TraceOptions, TraceSpillOptions } from './options/trace-options.js'
export type { ChatOptions, GenerateOptions, Prompt } from './options/generate-options.js'
export type { Piece, TokenLogprob } from './runtime/pieces.js'
export type { FinishReason, GenerationResult, Timings, Usage } from './runtime/result.js'
export type { Logits } from './runtime/score-request.js'
export type {
  BatchReport,
  CompactionReport,
  EvictionReport,
  KvPages,
  KvReport,
  LedgerLine,
  MappedReport,
  MemoryReport,
  PrefixCacheReport,
  QuarantineReport,
  RegionName,
  RegionReport,
  SessionReport,
} from './memory.js'
export type {
  CounterFigures,
  Fragmentation,
  MemoryStatistics,
  PoolFigures,
} from './memory-statistics.js'
export type { StepTimes } from './step-times.js'
export type {
  Leak,
  LeakReport,
  MemorySnapshot,
  SnapshotBlock,
  SnapshotEvent,
  SnapshotHolding,
  SnapshotOwner,
  SnapshotSegment,
  StackFrame,
  TraceOperation,
  TraceReport,
} from './trace/snapshot.js'
export type { ChatMessage, ChatTemplateOptions, Detokenizer, Tokenizer } from './text/types.js'
export type { GenerationDefaults } from './checkpoint/types.js'
