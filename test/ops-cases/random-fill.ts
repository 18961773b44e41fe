/** Fills at random, and what they are by an independent count in whole numbers. */
import { toBf16, toFp16, type Device, type FloatDType } from '../../lib/ops/index.js'
import { fillRandom } from '../../lib/ops/index.js'

export interface FillCase {
  name: string
  dtype: FloatDType | 'u8'
  count: number
  seed: bigint
  first: number
  middle?: number
  reach?: number
  bytes?: 'bits' | 'e4m3'
}

const mask = 2n ** 64n - 1n

/** SplitMix64, output `index` of `seed`. */
function word(seed: bigint, index: bigint): number {
  let z = (seed + (index + 1n) * 0x9e3779b97f4a7c15n) & mask
  z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & mask
  z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & mask
  return Number((z ^ (z >> 31n)) >> 32n)
}

/** middle + reach · u is exact in fp64 for the cases here; Math.fround is the one rounding of a fused product. */
function float(bits: number, { middle = 0, reach = 1 }: FillCase): number {
  const u = Math.floor(bits / 256) / 2 ** 23 - 1
  return Math.fround(Math.fround(middle) + Math.fround(reach) * u)
}

function byte(bits: number, { bytes }: FillCase): number {
  if (bytes !== 'e4m3') return bits & 255
  const low = bits & 0x3fff
  const exponent = low === 0 ? 0 : 14 - (31 - Math.clz32(low & -low))
  return ((bits >>> 24) & 0x80) | (exponent << 3) | ((bits >>> 28) & 7)
}

/** The bits that every device must write. */
export function expectedFill(fill: FillCase): number[] {
  const words = Array.from({ length: fill.count }, (_, i) =>
    word(fill.seed, BigInt(fill.first + i)),
  )
  if (fill.dtype === 'u8') return words.map((bits) => byte(bits, fill))
  const floats = Float32Array.from(words, (bits) => float(bits, fill))
  if (fill.dtype === 'fp32') return [...new Int32Array(floats.buffer)]
  return [...(fill.dtype === 'bf16' ? toBf16 : toFp16)(floats)]
}

/** The bits that this device writes. */
export function filled(device: Device, fill: FillCase): number[] {
  using buffer = device.buffer(fill.dtype, [fill.count])
  const { seed, first, middle, reach, bytes } = fill
  fillRandom(buffer, { seed, first, middle, reach, bytes })
  const read = buffer.read()
  return [...(read instanceof Float32Array ? new Int32Array(read.buffer) : read)] as number[]
}

const dtypes = ['fp32', 'bf16', 'fp16'] as const

/** Odd counts and starts, so that chunks and single elements are met. */
export const fillCases: readonly FillCase[] = [
  ...dtypes.flatMap((dtype) =>
    [1, 7, 8, 4096, 10_007].map((count) => ({
      ...{
        name: `${dtype} × ${count}`,
        dtype,
        count,
        seed: BigInt(count) * 0x123456789n,
        first: count,
      },
      ...{ middle: 0, reach: 0.03125 },
    })),
  ),
  ...dtypes.map((dtype) => ({
    ...{
      name: `${dtype} around 1`,
      dtype,
      count: 3000,
      seed: 5n,
      first: 0,
      middle: 1,
      reach: 0.125,
    },
  })),
  ...(['bits', 'e4m3'] as const).flatMap((bytes) =>
    [1, 9, 16, 65_537].map((count) => ({
      ...{ name: `${bytes} × ${count}`, dtype: 'u8' as const, count, first: 2 * count, bytes },
      seed: 2n ** 64n - BigInt(count),
    })),
  ),
  { name: 'far along the sequence', dtype: 'fp32', count: 100, seed: 9n, first: 2 ** 40 },
]
