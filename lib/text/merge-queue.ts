/** A binary min-heap of possible merges, lowest rank first, then leftmost. */

/** A key is rank × 2^32 + position: exact in a double while ranks stay below 2^21. */
const positions = 2 ** 32
export const rankLimit = 2 ** 21

export class MergeQueue {
  private keys = new Float64Array(256)
  private size = 0

  get isEmpty(): boolean {
    return this.size === 0
  }

  push(rank: number, position: number): void {
    if (this.size === this.keys.length) this.resize(this.size * 2)
    const keys = this.keys
    const key = rank * positions + position
    let hole = this.size++
    while (hole > 0) {
      const parent = (hole - 1) >> 1
      const above = keys[parent] as number
      if (above <= key) break
      keys[hole] = above
      hole = parent
    }
    keys[hole] = key
  }

  /** The key of the first merge; take it apart with `rankOf` and `positionOf`. */
  pop(): number {
    const keys = this.keys
    const first = keys[0] as number
    const last = keys[--this.size] as number
    let hole = 0
    for (let child = 1; child < this.size; child = 2 * hole + 1) {
      if (child + 1 < this.size && (keys[child + 1] as number) < (keys[child] as number)) child++
      if ((keys[child] as number) >= last) break
      keys[hole] = keys[child] as number
      hole = child
    }
    keys[hole] = last
    return first
  }

  /** Gives back what an uncommonly long text took. */
  trim(): void {
    if (this.keys.length > 65536) this.keys = new Float64Array(256)
  }

  static rankOf(key: number): number {
    return Math.floor(key / positions)
  }

  static positionOf(key: number): number {
    return key - MergeQueue.rankOf(key) * positions
  }

  private resize(length: number): void {
    const grown = new Float64Array(length)
    grown.set(this.keys)
    this.keys = grown
  }
}
