/** Tensors in the files that the model does not use: harmless ones are reported, others refused. */
import { OctavoError } from '../errors.js'
import { listNames } from './fields.js'
import type { Naming } from './naming.js'

/** Buffers that old versions of transformers saved: they are computed from the config. */
const computedBuffer = /(^|\.)rotary_emb\.(inv_freq|cos_cached|sin_cached)$/

/** Scales for a cache of eight bits: the cache's numbers need none. */
const cacheScale = /\.self_attn\.[qkv]_scale$/

/**
 * Throws OCTAVO_CHECKPOINT_MISMATCH for a tensor that has no place: the config then describes another model.
 * A tied head is harmless, and so is everything outside the language model of a wrapper (`nested`).
 */
export function refuseUnexpected(unused: readonly string[], naming: Naming, nested: boolean): void {
  const unexpected = unused.filter((name) => {
    if (computedBuffer.test(name) || cacheScale.test(name) || name === naming.head) return false
    return !nested || name.startsWith(naming.body)
  })
  if (unexpected.length === 0) return
  const one = unexpected.length === 1
  const count = one ? '1 tensor of the files has' : `${unexpected.length} tensors of the files have`
  const problem = `${count} no place in the model that config.json describes: ${listNames(unexpected)}`
  throw new OctavoError('OCTAVO_CHECKPOINT_MISMATCH', problem)
}
