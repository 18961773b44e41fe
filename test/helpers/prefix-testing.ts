/** `addon.testing`: the prefix cache over a pool of blocks that are only counted, and the hashes of its blocks. */
import { openMemory, testing, type Memory, type Pool } from './native-testing.js'
import type { NativePrefixOptions, NativePrefixReport } from '../../lib/native.js'

/** A PrefixCache whose blocks are named by numbers, under a clock that stands still. */
export interface Prefix {
  /**
   * What an engine does with a prompt of full blocks, of a session that holds nothing yet; null, with nothing held,
   * when the pool has too few blocks free.
   */
  request(
    session: number,
    ids: Int32Array,
    fence: number,
  ): { hits: number; blocks: number[] } | null
  /** How many leading blocks can be found; no use of them. */
  has(ids: Int32Array): number
  leave(session: number, blocks: number[], fence: number, drop: boolean): void
  share(blocks: number[], from: number, to: number): void
  claim(block: number): boolean
  evict(wanted: number, coldOnly: boolean, fence: number): number
  /** One slice of the pool's, followed: from, to, from … */
  compact(): number[]
  advance(milliseconds: number): void
  report(): NativePrefixReport
  /** Of the pool and the cache. */
  check(): void
}

export interface PrefixTesting {
  Prefix: new (pool: Pool, options: NativePrefixOptions) => Prefix
  /** SipHash-2-4-128 under 16 bytes of key. */
  prefixHash(key: Uint8Array, bytes: Uint8Array): Uint8Array
  /** One hash a full block. */
  prefixChain(
    key: Uint8Array,
    chain: { model: string; tenant: string; blockSize: number; tokens: Int32Array },
  ): Uint8Array[]
}

export const prefixTesting = testing as unknown as PrefixTesting

export const prefixOptions: NativePrefixOptions = {
  eviction: 'lru-2',
  share: 1,
  retentionMs: 0,
  correlatedUses: 0,
}

export const blockBytes = 4096

export interface OpenPrefix {
  memory: Memory
  pool: Pool
  prefix: Prefix
}

export function openPrefix(blocks: number, options: Partial<NativePrefixOptions> = {}): OpenPrefix {
  const memory = openMemory()
  const pool = new testing.Pool(memory, { blocks, blockBytes })
  const prefix = new prefixTesting.Prefix(pool, { ...prefixOptions, ...options })
  return { memory, pool, prefix }
}

/** The ledger's lines of blocks that somebody holds, or that are kept: owner and blocks. */
export function owned(memory: Memory): Record<string, number> {
  const lines = memory.lines().filter(({ tag }) => tag === 'kv.blocks' || tag === 'kv.cached')
  return Object.fromEntries(lines.map((line) => [`${line.ownerKind} ${line.ownerId}`, line.count]))
}
