/** Cases of ropeKvWrite: the same step by the op, and by headNorm, rope and kvWrite in turn. */
import { headNorm, kvWrite, rope, ropeKvWrite } from '../../lib/ops/index.js'
import type { Device, FloatDType, KvCacheArgument } from '../../lib/ops/index.js'
import { codedCache, codings, nameOf, randomScales, scaleOptions } from './coded-cache.js'
import type { Coding } from './coded-cache.js'
import { Random } from './random.js'
import { floats } from './rows.js'
import { Scope } from './scope.js'

/** Bytes of the cache and numbers of the queries after a step. */
export interface Written {
  query: Float32Array
  cache: ArrayLike<number>
}

export interface RopeWriteCase {
  name: string
  fused(device: Device): Written
  inTurn(device: Device): Written
}

const slots = [33, 0, -1, 17, 16, 47, 2]
const positions = [0, 1, 5, 1000, 131071, 3, 77]

function ropeWriteCase(
  dim: number,
  from: FloatDType,
  to: FloatDType | Coding,
  normed: boolean,
): RopeWriteCase {
  const [layer, layers, heads, kvHeads, blocks, blockSize, tokens] = [1, 2, 6, 2, 3, 16, 7]
  const cacheName = typeof to === 'string' ? to : nameOf(to)
  const name = `dim ${dim}, ${from} → ${cacheName}${normed ? ', normed' : ''}`
  const inverseFrequencies = Float32Array.from(
    { length: dim / 2 },
    (_, i) => 10000 ** ((-2 * i) / dim),
  )
  const rotation = { positions, inverseFrequencies, magnitude: dim === 80 ? 1.25 : 1 }

  function run(device: Device, isFused: boolean): Written {
    const random = new Random(dim)
    using scope = new Scope(device)
    const placed = (count: number) =>
      scope.heads(from, { tokens, heads: count, dim }, random.values(tokens * count * dim, from))
    const [query, key, value] = [placed(heads), placed(kvHeads), placed(kvHeads)]
    const weights = [
      scope.vector(from, random.values(dim, from)),
      scope.vector(from, random.values(dim, from)),
    ]
    const [queryNorm, keyNorm] = weights
    const shape = [blocks, layers, 2, kvHeads, blockSize, dim]
    const zeros = new Float32Array(shape.reduce((product, size) => product * size, 1))
    const cache: KvCacheArgument =
      typeof to === 'string'
        ? scope.buffer(to, shape, zeros)
        : codedCache(scope, { ...to, blocks, layers, kvHeads, blockSize, headDim: dim }, 0)
    const scales =
      typeof to === 'string' ? {} : scaleOptions(scope, to, randomScales(to, kvHeads, random))
    if (isFused) {
      ropeKvWrite(cache, query.view, key.view, value.view, {
        layer,
        slots,
        ...rotation,
        ...scales,
        ...(normed && { queryNorm, keyNorm, epsilon: 1e-5 }),
      })
    } else {
      if (normed) {
        headNorm(query.view, queryNorm!, 1e-5)
        headNorm(key.view, keyNorm!, 1e-5)
      }
      rope(query.view, key.view, rotation)
      kvWrite(cache, layer, key.view, value.view, slots, scales)
    }
    const bytes = 'shape' in cache ? cache.readNumbers() : cache.buffer.read()
    return { query: query.read(), cache: bytes }
  }
  return { name, fused: (device) => run(device, true), inTurn: (device) => run(device, false) }
}

export function ropeWriteCases(): RopeWriteCase[] {
  const dims = [2, 24, 64, 80, 128, 256]
  const kinds: (FloatDType | Coding)[] = [...floats, ...codings]
  return [
    ...dims.flatMap((dim) =>
      [false, true].map((normed) => ropeWriteCase(dim, 'bf16', 'bf16', normed)),
    ),
    ...floats.flatMap((from) => kinds.map((to) => ropeWriteCase(64, from, to, true))),
  ]
}
