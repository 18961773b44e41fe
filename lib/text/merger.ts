/**
 * Byte-pair encoding of one word (Sennrich et al. 2016, arXiv:1508.07909): the pair of lowest
 * rank merges first, the leftmost of equals. With a queue it takes n log n steps, so that a text
 * without a pre-tokenizer (SentencePiece models) or a megabyte of one letter stays fast.
 */

import type { MergeTable } from './merge-table.js'
import { MergeQueue } from './merge-queue.js'

const none = -1

export class Merger {
  private readonly queue = new MergeQueue()
  private symbols = new Int32Array(0)
  private previous = new Int32Array(0)
  private next = new Int32Array(0)

  constructor(private readonly table: MergeTable) {}

  /** The ids that remain of `symbols` when every merge is done. */
  merge(symbols: readonly number[]): number[] {
    if (symbols.length < 2) return symbols.slice()
    this.link(symbols)
    while (!this.queue.isEmpty) this.apply(this.queue.pop())
    const ids: number[] = []
    for (let at = 0; at !== none; at = this.next[at] as number) ids.push(this.symbols[at] as number)
    this.queue.trim()
    return ids
  }

  private link(symbols: readonly number[]): void {
    const length = symbols.length
    if (length > this.symbols.length || this.symbols.length > 65536) this.allocate(length)
    for (let at = 0; at < length; at++) {
      this.symbols[at] = symbols[at] as number
      this.previous[at] = at - 1
      this.next[at] = at + 1 < length ? at + 1 : none
    }
    for (let at = 0; at + 1 < length; at++) this.propose(at)
  }

  private allocate(length: number): void {
    const room = Math.max(length, 256)
    this.symbols = new Int32Array(room)
    this.previous = new Int32Array(room)
    this.next = new Int32Array(room)
  }

  /** Queues the merge of the symbol at `at` with the one after it, if there is one. */
  private propose(at: number): void {
    const after = this.next[at] as number
    if (after === none) return
    const handle = this.table.find(this.symbols[at] as number, this.symbols[after] as number)
    if (handle !== -1) this.queue.push(this.table.rank(handle), at)
  }

  /** Does a queued merge, unless one of its two has merged with another since. */
  private apply(key: number): void {
    const at = MergeQueue.positionOf(key)
    const after = this.next[at] as number
    if (after === none || this.symbols[at] === none) return
    const handle = this.table.find(this.symbols[at] as number, this.symbols[after] as number)
    if (handle === -1 || this.table.rank(handle) !== MergeQueue.rankOf(key)) return

    const beyond = this.next[after] as number
    this.symbols[at] = this.table.merged(handle)
    this.symbols[after] = none
    this.next[at] = beyond
    if (beyond !== none) this.previous[beyond] = at
    this.propose(at)
    const before = this.previous[at] as number
    if (before !== none) this.propose(before)
  }
}
