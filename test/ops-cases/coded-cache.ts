/** A KV cache of codes on a device, and the same in the reference. */
import { kvBlockBytes } from '../../lib/ops/index.js'
import type { CodedKvCache, CodedKvShape, KvScaleOptions } from '../../lib/ops/index.js'
import type { Random } from './random.js'
import { e4m3Row, int8Row, type Coded } from './reference-codes.js'
import type { Scope } from './scope.js'

/** How a cache of codes is made, and its scales. */
export interface Coding {
  dtype: 'fp8_e4m3' | 'int8'
  scaling: 'tensor' | 'head' | 'token'
}

export const codings: readonly Coding[] = [
  { dtype: 'fp8_e4m3', scaling: 'tensor' },
  { dtype: 'fp8_e4m3', scaling: 'head' },
  { dtype: 'int8', scaling: 'token' },
]

export const nameOf = ({ dtype, scaling }: Coding): string => `${dtype} by ${scaling}`

/** `[key, value]`, of each head; ones where there are none to give. */
export type Scales = readonly [Float32Array, Float32Array]

/** Not powers of two, and apart from each other. */
export function randomScales({ scaling }: Coding, kvHeads: number, random: Random): Scales {
  const some = (): Float32Array => {
    const one = 0.01 + 0.02 * random.uniform()
    return Float32Array.from({ length: kvHeads }, () =>
      scaling === 'token' ? 1 : scaling === 'tensor' ? one : 0.01 + 0.02 * random.uniform(),
    )
  }
  return [some(), some()]
}

/** As kvWrite takes them. */
export function scaleOptions(scope: Scope, { scaling }: Coding, scales: Scales): KvScaleOptions {
  if (scaling === 'token') return {}
  if (scaling === 'tensor') return { keyScale: scales[0][0]!, valueScale: scales[1][0]! }
  const [keyScale, valueScale] = scales.map((heads) => scope.fp32([heads.length], heads))
  return { keyScale: keyScale!, valueScale: valueScale! }
}

/** As pagedAttention takes them. */
export function readOptions({ scaling }: Coding, scales: Scales): object {
  return scaling === 'tensor' ? { keyScale: scales[0][0]!, valueScale: scales[1][0]! } : {}
}

/** Every byte `poison`: 255 is NaN as e4m3 and as a scale. */
export function codedCache(scope: Scope, shape: CodedKvShape, poison = 255): CodedKvCache {
  const buffer = scope.bytes([shape.blocks, kvBlockBytes(shape)])
  buffer.fillBytes(poison)
  return { ...shape, buffer }
}

export function codeRow({ dtype }: Coding, row: ArrayLike<number>, scale: number): Coded {
  return dtype === 'int8' ? int8Row(row) : e4m3Row(row, scale)
}

/** A token's key (side 0) or value (1) of a head, put where the layout says, in the bytes of a cache. */
export function placeRow(
  bytes: Uint8Array,
  shape: CodedKvShape & Coding,
  at: { slot: number; layer: number; side: 0 | 1; head: number },
  { codes, scale }: Coded,
): void {
  const { layers, kvHeads, blockSize, headDim, scaling } = shape
  const start = Math.floor(at.slot / blockSize) * kvBlockBytes(shape)
  const head = (at.layer * 2 + at.side) * kvHeads + at.head
  const token = at.slot % blockSize
  bytes.set(codes, start + (head * blockSize + token) * headDim)
  if (scaling === 'tensor') return
  const tail = start + layers * 2 * kvHeads * blockSize * headDim
  const index = scaling === 'head' ? head : head * blockSize + token
  new DataView(bytes.buffer).setFloat32(tail + index * 4, scale, true)
}
