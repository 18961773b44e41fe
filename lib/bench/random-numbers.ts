/** Random numbers that a seed decides, on every machine alike. */

/** SplitMix32: a counter in steps of the golden ratio, mixed. */
export class RandomNumbers {
  #state: number

  /** Of several numbers each one matters: a seed and the index of a request, say. */
  constructor(...seeds: readonly number[]) {
    this.#state = 0
    for (const seed of seeds) {
      this.#state = this.#word() ^ (seed >>> 0)
      this.#state = this.#word() ^ Math.floor(seed / 2 ** 32)
    }
  }

  #word(): number {
    this.#state = (this.#state + 0x9e3779b9) >>> 0
    let word = this.#state ^ (this.#state >>> 16)
    word = Math.imul(word, 0x21f0aaad)
    word = Math.imul(word ^ (word >>> 15), 0x735a2d97)
    return (word ^ (word >>> 15)) >>> 0
  }

  /** From 0 up to 1, in steps of 2⁻³². */
  next(): number {
    return this.#word() / 2 ** 32
  }

  /** From `min` to `max`, both included. */
  integer(min: number, max: number): number {
    return min + Math.floor(this.next() * (max - min + 1))
  }

  /** With a mean of 1: the gaps of arrivals that do not know of each other. */
  exponential(): number {
    return -Math.log(1 - this.next())
  }
}
