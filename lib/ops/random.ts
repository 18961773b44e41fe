/** Memory filled at random: bit for bit the same on every device. */
import type { DeviceBuffer } from './buffer.js'
import { floatDTypes } from './dtype.js'
import type { FloatDType } from './dtype.js'
import { callOps } from './load.js'
import { deviceOf, nativeVector } from './shape.js'
import { invalid, OptionReader } from '../options/reader.js'

/** What random numbers a buffer gets. Every field may be left out. */
export interface RandomOptions {
  /** Another seed, other numbers. An integer from 0 to 2^53 − 1, or a bigint below 2n ** 64n. Default 0. */
  seed?: number | bigint | undefined
  /** The place in the sequence of the seed that element 0 gets. Default 0. */
  first?: number | undefined
  /** Numbers lie evenly between `middle - reach` and `middle + reach`; defaults 0 and 1. Of float buffers alone. */
  middle?: number | undefined
  reach?: number | undefined
  /** What bytes are: any ('bits', the default of u8 buffers) or e4m3 numbers up to 240. */
  bytes?: 'bits' | 'e4m3' | undefined
}

const names: Record<keyof RandomOptions, true> = {
  seed: true,
  first: true,
  middle: true,
  reach: true,
  bytes: true,
}

/** Finite in fp32. */
const single = { min: -3.4028234663852886e38, max: 3.4028234663852886e38 }

function readSeed(read: OptionReader<RandomOptions>): bigint {
  const seed = read.raw('seed') ?? 0
  if (Number.isSafeInteger(seed) && (seed as number) >= 0) return BigInt(seed as number)
  if (typeof seed === 'bigint' && seed >= 0n && seed < 2n ** 64n) return seed
  throw read.invalid('seed', 'an integer from 0 to 2^53 − 1, or a bigint from 0n below 2n ** 64n')
}

/**
 * Fills a buffer of floats or of bytes with numbers that its place and `seed` decide, whichever device it is on. Throws
 * OCTAVO_INVALID_ARGUMENT for a buffer of another dtype and for options that are not its dtype's.
 *
 * @example
 * ```ts
 * import { Device, fillRandom } from 'octavo/ops'
 * using device = Device.open('cpu')
 * using weights = device.buffer('bf16', [64, 64])
 * fillRandom(weights, { seed: 1, reach: 0.125 })
 * console.log(weights.readNumbers().slice(0, 4))
 * ```
 */
export function fillRandom(
  buffer: DeviceBuffer<FloatDType | 'u8'>,
  options: RandomOptions = {},
): void {
  const read = new OptionReader<RandomOptions>(options, names)
  const filled = buffer as DeviceBuffer<FloatDType>
  const { buffer: to, size: count, ...native } = nativeVector('buffer', filled)
  const dtype: FloatDType | 'u8' = native.dtype
  const isBytes = (dtype as string) === 'u8'
  if (!isBytes && !floatDTypes.includes(dtype)) {
    throw invalid('buffer.dtype', dtype, 'fp32, bf16, fp16 or u8')
  }
  for (const name of isBytes ? (['middle', 'reach'] as const) : (['bytes'] as const)) {
    if (read.raw(name) !== undefined)
      throw read.invalid(name, `left out for ${isBytes ? 'bytes' : 'floats'}`)
  }
  const call = {
    to,
    dtype,
    kind: isBytes ? (read.oneOf('bytes', ['bits', 'e4m3'] as const) ?? 'bits') : 'uniform',
    first: read.integer('first', { min: 0, max: 2 ** 48 }) ?? 0,
    count,
    seed: readSeed(read),
    middle: read.number('middle', single) ?? 0,
    reach: read.number('reach', { ...single, min: 0 }) ?? 1,
  } as const
  callOps((ops) => ops.fillRandom(deviceOf('buffer', filled), call))
}
