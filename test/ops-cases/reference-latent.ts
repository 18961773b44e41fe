/** Latent attention in fp64 from its definition: keys and values as functions of a token and a head. */

export interface LatentSequence {
  /** `[queryLength, heads, keyDim]` */
  query: ArrayLike<number>
  queryLength: number
  contextLength: number
  /** Element d of a token's key, or value, for a head. */
  key: (token: number, head: number, d: number) => number
  value: (token: number, head: number, d: number) => number
}

export interface LatentShape {
  heads: number
  keyDim: number
  valueDim: number
  scale: number
}

const range = (count: number): number[] => Array.from({ length: count }, (_, index) => index)

/** `[queryLength, heads, valueDim]`: softmax(q · k · scale) · v over the keys up to each query's own. */
export function latentAttention(sequence: LatentSequence, shape: LatentShape): number[] {
  return range(sequence.queryLength).flatMap((token) =>
    range(shape.heads).flatMap((head) => attendOne(sequence, shape, token, head)),
  )
}

function attendOne(
  { query, queryLength, contextLength, key, value }: LatentSequence,
  { heads, keyDim, valueDim, scale }: LatentShape,
  token: number,
  head: number,
): number[] {
  const seen = range(contextLength - queryLength + token + 1)
  const at = (token * heads + head) * keyDim
  const scores = seen.map((j) => {
    let dot = 0
    for (let d = 0; d < keyDim; d++) dot += query[at + d]! * key(j, head, d)
    return dot * scale
  })
  const largest = Math.max(...scores)
  const weights = scores.map((score) => Math.exp(score - largest))
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  return range(valueDim).map(
    (d) => seen.reduce((sum, j) => sum + weights[j]! * value(j, head, d), 0) / total,
  )
}
