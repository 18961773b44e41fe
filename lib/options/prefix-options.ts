/** `prefixCache` of `Engine.load`. */
import type { NativePrefixOptions } from '../native.js'
import { invalid, isArray, OptionReader } from './reader.js'

/** What is kept of KV that no session holds any more, for the next prompt that begins alike. */
export interface PrefixCacheOptions {
  /**
   * Which kept block goes first: with 'lru-2' (default) the one whose second-last use is oldest, blocks used once
   * before all others, so that a run of prompts that never return does not push out those that do; with 'lru' the
   * one whose last use is oldest.
   */
  eviction?: 'lru-2' | 'lru' | undefined
  /** Of the KV cache that blocks without a session may have, 0 to 1. Default 1: whatever nobody else wants. */
  share?: number | undefined
  /** So long after its last use, in milliseconds, a block used twice or more goes after all others. Default 0. */
  retentionMs?: number | undefined
  /** A use within so many requests of the last one counts as the same use. Default 0: every request counts. */
  correlatedUses?: number | undefined
}

const known = { eviction: true, share: true, retentionMs: true, correlatedUses: true } as const
const policies = ['lru-2', 'lru'] as const
const longest = 365 * 24 * 3600 * 1000

/** true, false or PrefixCacheOptions; null: nothing is kept. Throws OCTAVO_UNKNOWN_OPTION and OCTAVO_INVALID_ARGUMENT. */
export function readPrefixOptions(options: unknown): NativePrefixOptions | null {
  if (options === undefined || options === false) return null
  const given = options === true ? undefined : options
  if (given !== undefined && (typeof given !== 'object' || given === null || isArray(given))) {
    throw invalid('prefixCache', given, 'true, false or an object of options')
  }
  const read = new OptionReader<PrefixCacheOptions>(given, known, 'prefixCache')
  return {
    eviction: read.oneOf('eviction', policies) ?? 'lru-2',
    share: read.number('share', { min: 0, max: 1 }) ?? 1,
    retentionMs: read.integer('retentionMs', { min: 0, max: longest }) ?? 0,
    correlatedUses: read.integer('correlatedUses', { min: 0, max: 2 ** 31 - 1 }) ?? 0,
  }
}
