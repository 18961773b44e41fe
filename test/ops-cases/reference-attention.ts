/** Attention in fp64 from its definition: no pages, no tiles, one query at a time. */

export interface SequenceTensors {
  /** `[queryLength, heads, dim]` */
  query: ArrayLike<number>
  /** `[contextLength, kvHeads, dim]` */
  keys: ArrayLike<number>
  values: ArrayLike<number>
  queryLength: number
  contextLength: number
}

export interface AttentionShape {
  heads: number
  kvHeads: number
  dim: number
  scale: number
  window: number
  /** 0: none */
  softCap?: number
  /** a score a head that has no value */
  sinks?: ArrayLike<number>
}

/** `[queryLength, heads, dim]`: softmax(q · k · scale) · v over the keys each query may see. */
export function attention(sequence: SequenceTensors, shape: AttentionShape): Float64Array {
  return attentionAndSums(sequence, shape).out
}

/** The same, and `[queryLength, heads]`: the logarithm of what the softmax divides by. */
export function attentionAndSums(
  sequence: SequenceTensors,
  shape: AttentionShape,
): { out: Float64Array; logSumExp: Float64Array } {
  const { queryLength, contextLength } = sequence
  const out = new Float64Array(queryLength * shape.heads * shape.dim)
  const logSumExp = new Float64Array(queryLength * shape.heads)
  for (let i = 0; i < queryLength; i++) {
    const position = contextLength - queryLength + i
    const first = shape.window > 0 ? Math.max(0, position - shape.window + 1) : 0
    for (let h = 0; h < shape.heads; h++) {
      logSumExp[i * shape.heads + h] = attendOne(out, sequence, shape, i, h, first, position)
    }
  }
  return { out, logSumExp }
}

function attendOne(
  out: Float64Array,
  { query, keys, values }: SequenceTensors,
  { heads, kvHeads, dim, scale, softCap = 0, sinks }: AttentionShape,
  token: number,
  head: number,
  first: number,
  last: number,
): number {
  const at = (token * heads + head) * dim
  const kvHead = Math.floor(head / (heads / kvHeads))
  const scores: number[] = []
  for (let j = first; j <= last; j++) {
    let dot = 0
    for (let d = 0; d < dim; d++) dot += query[at + d]! * keys[(j * kvHeads + kvHead) * dim + d]!
    scores.push(softCap > 0 ? softCap * Math.tanh((dot * scale) / softCap) : dot * scale)
  }
  const sink = sinks?.[head] ?? -Infinity
  const largest = Math.max(sink, ...scores)
  const weights = scores.map((score) => Math.exp(score - largest))
  const total = weights.reduce((sum, weight) => sum + weight, Math.exp(sink - largest))
  weights.forEach((weight, j) => {
    for (let d = 0; d < dim; d++) {
      out[at + d]! += (weight / total) * values[((first + j) * kvHeads + kvHead) * dim + d]!
    }
  })
  return largest + Math.log(total)
}
