/** What the KV cache leaves a generation whose caller names no number of tokens. */
import type { NativePlan } from '../plan.js'

export interface RoomDemand {
  promptTokens: number
  /** Of the prompt, which they share. */
  samples: number
  /** Of the session's quota; 0: it has none. */
  quotaBytes: number
}

/**
 * New tokens of each sample that pool and quota hold beside the prompt, at least 1: what does not fit at all is refused
 * by the engine, with its numbers. Of a quota the full blocks of the prompt count once for all samples.
 */
export function roomFor(demand: RoomDemand, kv: NativePlan['kv']): number {
  const { promptTokens, samples, quotaBytes } = demand
  const shared = Math.floor((promptTokens - 1) / kv.blockSize)
  const quotaBlocks = quotaBytes === 0 ? Infinity : Math.floor(quotaBytes / kv.blockBytes)
  const each = Math.floor((quotaBlocks + (samples - 1) * shared) / samples)
  return Math.max(1, Math.min(kv.blocks, each) * kv.blockSize - promptTokens)
}
