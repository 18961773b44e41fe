/** `addon.testing`: the memory floor by itself. See cpp/binding/testing. */
import type { NativeLedgerLine } from '../../lib/native.js'
import { testing, type OwnerKind, type Region } from './native-testing.js'

type Named = [region: Region, kind: OwnerKind, owner: number, tag: string]

/** A ledger without an allocator; lines by number. */
export interface Ledger {
  line(...name: Named): number
  release(line: number): boolean
  add(line: number, bytes: number, count: number): void
  remove(line: number, bytes: number, count: number): void
  transfer(from: number, to: number, bytes: number, fromCount: number, toCount: number): void
  /** Transfers to a line by name and returns it. */
  handOut(
    from: number,
    ...to: [OwnerKind, number, string, bytes: number, fromCount: number, toCount: number]
  ): number
  /** Transfers and releases `line`. */
  handBack(line: number, to: number, bytes: number, fromCount: number, toCount: number): void
  addNamed(...line: [...Named, bytes: number, count: number]): void
  removeNamed(...line: [...Named, bytes: number, count: number]): void
  transferNamed(
    ...move: [
      ...Named,
      toKind: OwnerKind,
      toOwner: number,
      toTag: string,
      bytes: number,
      fromCount: number,
      toCount: number,
    ]
  ): void
  /** Threads that each take away what they put in. */
  hammer(threads: number, rounds: number): void
  lines(): NativeLedgerLine[]
  regionBytes(region: Region): number
  check(): void
}

export interface MemoryTesting {
  Ledger: new () => Ledger
}

export const memoryTesting = testing as unknown as MemoryTesting
