/** Random numbers that a failing test can repeat: splitmix32 over a seed. */
export class SeededRandom {
  constructor(private state: number) {}

  /** Uniform in [0, 1). */
  next(): number {
    this.state = (this.state + 0x9e3779b9) | 0
    let bits = this.state ^ (this.state >>> 16)
    bits = Math.imul(bits, 0x21f0aaad)
    bits = Math.imul(bits ^ (bits >>> 15), 0x735a2d97)
    return ((bits ^ (bits >>> 15)) >>> 0) / 2 ** 32
  }

  /** A whole number in [least, most]. */
  between(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1))
  }

  pick<T>(values: readonly T[]): T {
    return values[this.between(0, values.length - 1)]!
  }

  /** Standard normal (Box–Muller). */
  normal(): number {
    return Math.sqrt(-2 * Math.log(1 - this.next())) * Math.cos(2 * Math.PI * this.next())
  }

  shuffle<T>(values: T[]): T[] {
    for (let last = values.length - 1; last > 0; last--) {
      const other = this.between(0, last)
      ;[values[last], values[other]] = [values[other]!, values[last]!]
    }
    return values
  }
}
