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
}

/** `[queryLength, heads, dim]`: softmax(q · k · scale) · v over the keys each query may see. */
export function attention(sequence: SequenceTensors, shape: AttentionShape): Float64Array {
  const { queryLength, contextLength } = sequence
  const out = new Float64Array(queryLength * shape.heads * shape.dim)
  for (let i = 0; i < queryLength; i++) {
    const position = contextLength - queryLength + i
    const first = shape.window > 0 ? Math.max(0, position - shape.window + 1) : 0
    for (let h = 0; h < shape.heads; h++) attendOne(out, sequence, shape, i, h, first, position)
  }
  return out
}

function attendOne(
  out: Float64Array,
  { query, keys, values }: SequenceTensors,
  { heads, kvHeads, dim, scale }: AttentionShape,
  token: number,
  head: number,
  first: number,
  last: number,
): void {
  const at = (token * heads + head) * dim
  const kvHead = Math.floor(head / (heads / kvHeads))
  const scores: number[] = []
  for (let j = first; j <= last; j++) {
    let dot = 0
    for (let d = 0; d < dim; d++) dot += query[at + d]! * keys[(j * kvHeads + kvHead) * dim + d]!
    scores.push(dot * scale)
  }
  const largest = Math.max(...scores)
  const weights = scores.map((score) => Math.exp(score - largest))
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  weights.forEach((weight, j) => {
    for (let d = 0; d < dim; d++) {
      out[at + d]! += (weight / total) * values[((first + j) * kvHeads + kvHead) * dim + d]!
    }
  })
}
