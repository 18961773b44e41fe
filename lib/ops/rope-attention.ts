/** A step's way through the paged KV cache in one call. */
import { requireApart } from './aliasing.js'
import { attentionCall, attentionNames } from './attention.js'
import type { AttentionOptions } from './attention.js'
import { cacheBuffer, nativeCache } from './kv-cache.js'
import { ropeKvWriteCall, ropeKvWriteNames } from './kv-write.js'
import type { RopeKvWriteOptions, Step } from './kv-write.js'
import { callOps } from './load.js'
import { readOptions } from './options.js'
import { deviceOf } from './shape.js'
import type { HeadsArgument } from './shape.js'

/** What both ops take; the scales of a step are those of the layer. */
export interface RopeAttentionOptions
  extends RopeKvWriteOptions, Omit<AttentionOptions, 'keyScale' | 'valueScale'> {}

/**
 * `ropeKvWrite`, then `pagedAttention` of its queries. Every token's slot is the place in the cache of its own position in
 * its sequence, or negative. What `query` and `key` hold afterwards is left open.
 */
export function ropeAttention(out: HeadsArgument, step: Step, options: RopeAttentionOptions): void {
  const read = readOptions(options, { ...attentionNames, ...ropeKvWriteNames })
  const write = ropeKvWriteCall(step, read)
  const attention = attentionCall(out, step.query, nativeCache('cache', step.cache), read)
  const { sinks, logSumExp, queryNorm, keyNorm } = read
  const { query, key, value } = step
  const inputs = { query, key, value, queryNorm, keyNorm, sinks }
  const cache = cacheBuffer('cache', step.cache)
  requireApart({ out, ...inputs, cache, logSumExp })
  if (logSumExp !== undefined) requireApart({ logSumExp, ...inputs, cache })
  callOps((ops) => ops.ropeAttention(deviceOf('out', out), { ...attention, ...write }))
}
