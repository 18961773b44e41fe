/** The merges of a BPE model as a hash table over pairs of ids: no strings at encoding time. */

/** Fields of a slot: left, right, rank, merged. */
const fields = 4
const empty = -1

export class MergeTable {
  private readonly slots: Int32Array
  private readonly shift: number

  /** `count`: how many pairs will be set. */
  constructor(count: number) {
    // At least 1.5 slots a pair: a probe for a pair that is not there ends after about two.
    const bits = Math.max(4, Math.ceil(Math.log2(count * 1.5 + 1)))
    this.slots = new Int32Array(fields * 2 ** bits).fill(empty)
    this.shift = 32 - bits
  }

  /** The last of two equal pairs wins, as in the original. */
  set(left: number, right: number, rank: number, merged: number): void {
    const slot = this.probe(left, right)
    this.slots[slot] = left
    this.slots[slot + 1] = right
    this.slots[slot + 2] = rank
    this.slots[slot + 3] = merged
  }

  /** A handle for `rank` and `merged`, or -1 when these two never merge. */
  find(left: number, right: number): number {
    const slot = this.probe(left, right)
    return this.slots[slot] === empty ? -1 : slot
  }

  rank(handle: number): number {
    return this.slots[handle + 2] as number
  }

  merged(handle: number): number {
    return this.slots[handle + 3] as number
  }

  /** The slot that holds the pair, or the free one where it belongs. */
  private probe(left: number, right: number): number {
    const slots = this.slots
    const hash = Math.imul(Math.imul(left, 0x9e3779b1) ^ right, 0x85ebca6b) >>> this.shift
    let slot = hash * fields
    while (slots[slot] !== empty && (slots[slot] !== left || slots[slot + 1] !== right)) {
      slot += fields
      if (slot === slots.length) slot = 0
    }
    return slot
  }
}
