/** Seeded random inputs, already rounded to the dtype they will be stored in. */
import { decode, encode } from '../../lib/ops/dtype.js'
import type { FloatDType } from '../../lib/ops/dtype.js'

/** A small generator (mulberry32): enough to fill tensors, the same on every machine. */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** In [0, 1). */
  uniform(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = this.#state
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }

  /** In [low, high). */
  integer(low: number, high: number): number {
    return low + Math.floor(this.uniform() * (high - low))
  }

  normal(): number {
    return Math.sqrt(-2 * Math.log(1 - this.uniform())) * Math.cos(2 * Math.PI * this.uniform())
  }

  /** `count` normal numbers as they are after rounding to `dtype`. */
  values(count: number, dtype: FloatDType, scale = 1): Float32Array {
    const numbers = Float32Array.from({ length: count }, () => this.normal() * scale)
    return round(dtype, numbers)
  }

  shuffled(count: number): number[] {
    const order = Array.from({ length: count }, (_, index) => index)
    for (let i = count - 1; i > 0; i--) {
      const j = this.integer(0, i + 1)
      ;[order[i], order[j]] = [order[j]!, order[i]!]
    }
    return order
  }
}

/** Numbers as they are after a trip through `dtype`. */
export function round(dtype: FloatDType, values: ArrayLike<number>): Float32Array {
  return decode(dtype, encode(dtype, values))
}
