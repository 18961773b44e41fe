/**
 * A forward pass in fp64, as plainly as it can be written: no cache, no batch, no threads. It knows a model by
 * its spec and manifest alone, so agreement with transformers proves both.
 */
import type { Checkpoint } from '../../lib/checkpoint/types.js'
import type { NativeLayer, NativeRope } from '../../lib/native.js'
import { readParameters, type Parameter } from './weights.js'

export interface Logits {
  rows: number
  columns: number
  /** [rows, columns] */
  data: Float64Array
}

/** One token's activations. */
type Vector = Float64Array

export class ReferenceModel {
  private readonly parameters: Map<string, Parameter>

  constructor(private readonly checkpoint: Pick<Checkpoint, 'spec' | 'manifest'>) {
    this.parameters = readParameters(checkpoint.manifest)
  }

  /** Logits of every position, or of the last one only. */
  logits(ids: readonly number[], lastOnly = false): Logits {
    const { spec } = this.checkpoint
    const embedding = this.parameter('embedding')
    let rows = ids.map((id): Vector => {
      const begin = id * spec.hiddenSize
      return Float64Array.from(embedding.values.subarray(begin, begin + spec.hiddenSize))
    })
    for (const [index, layer] of spec.layers.entries())
      rows = this.layer(rows, layer, `layers.${index}`)
    if (lastOnly) rows = rows.slice(-1)
    const head = spec.tiedEmbeddings ? 'embedding' : 'head'
    const normed = rows.map((row) => this.norm(row, 'finalNorm'))
    const data = new Float64Array(rows.length * spec.vocabularySize)
    normed.forEach((row, i) => data.set(this.linear(row, head), i * spec.vocabularySize))
    return { rows: rows.length, columns: spec.vocabularySize, data }
  }

  /** The `count` most likely next tokens, one after the other. */
  greedy(ids: readonly number[], count: number): number[] {
    const all = [...ids]
    for (let i = 0; i < count; i++) {
      const { data } = this.logits(all, true)
      all.push(data.reduce((best, value, id) => (value > data[best]! ? id : best), 0))
    }
    return all.slice(ids.length)
  }

  private layer(rows: Vector[], layer: NativeLayer, name: string): Vector[] {
    const attended = this.attention(rows, layer.attention, `${name}.attention`)
    const middle = rows.map((row, t) => add(row, attended[t]!))
    return middle.map((row) => add(row, this.mlp(row, layer.mlp, `${name}.mlp`)))
  }

  private attention(rows: Vector[], spec: NativeLayer['attention'], name: string): Vector[] {
    const { heads, kvHeads, headDim, scale, window } = spec
    const rope = this.checkpoint.spec.ropes[spec.rope]!
    const normed = rows.map((row) => this.norm(row, `${name}.norm`))
    const bias = spec.qkvBias ? `${name}.qkvBias` : undefined
    const qkv = normed.map((row) => this.linear(row, `${name}.qkv`, bias))
    const headOf = (t: number, index: number): Vector =>
      qkv[t]!.subarray(index * headDim, (index + 1) * headDim)
    const turned = (t: number, index: number, norm: string): Vector => {
      const head = spec.queryKeyNorm ? this.norm(headOf(t, index), norm) : headOf(t, index)
      return rotate(head, t, rope)
    }
    const queries = rows.map((_, t) => range(heads, (h) => turned(t, h, `${name}.queryNorm`)))
    const keys = rows.map((_, t) => range(kvHeads, (h) => turned(t, heads + h, `${name}.keyNorm`)))
    const outputBias = spec.outputBias ? `${name}.outputBias` : undefined
    return rows.map((_, t) => {
      const first = window === 0 ? 0 : Math.max(0, t - window + 1)
      const mixed = new Float64Array(heads * headDim)
      for (let h = 0; h < heads; h++) {
        const kvHead = Math.floor(h / (heads / kvHeads))
        const scores = range(
          t - first + 1,
          (j) => dot(queries[t]![h]!, keys[first + j]![kvHead]!) * scale,
        )
        softmax(scores).forEach((share, j) => {
          const value = headOf(first + j, heads + kvHeads + kvHead)
          for (let i = 0; i < headDim; i++) mixed[h * headDim + i]! += share * value[i]!
        })
      }
      return this.linear(mixed, `${name}.output`, outputBias)
    })
  }

  private mlp(row: Vector, spec: NativeLayer['mlp'], name: string): Vector {
    const [gateUpBias, downBias] = spec.bias ? [`${name}.gateUpBias`, `${name}.downBias`] : []
    const gateUp = this.linear(this.norm(row, `${name}.norm`), `${name}.gateUp`, gateUpBias)
    const inner = Float64Array.from({ length: spec.intermediateSize }, (_, i) => {
      const gate = gateUp[i]!
      return (gate / (1 + Math.exp(-gate))) * gateUp[spec.intermediateSize + i]!
    })
    return this.linear(inner, `${name}.down`, downBias)
  }

  private norm(row: Vector, name: string): Vector {
    const { values } = this.parameter(name)
    const root = Math.sqrt(dot(row, row) / row.length + this.checkpoint.spec.normEpsilon)
    return row.map((value, i) => (value / root) * values[i]!)
  }

  private linear(row: Vector, name: string, bias?: string): Vector {
    const { values, shape } = this.parameter(name)
    const [outputs, inputs] = shape as [number, number]
    const offsets = bias === undefined ? null : this.parameter(bias).values
    const result = new Float64Array(outputs)
    for (let n = 0; n < outputs; n++) {
      let sum = offsets === null ? 0 : offsets[n]!
      for (let k = 0, at = n * inputs; k < inputs; k++, at++) sum += row[k]! * values[at]!
      result[n] = sum
    }
    return result
  }

  private parameter(name: string): Parameter {
    const parameter = this.parameters.get(name)
    if (!parameter) throw new Error(`the manifest has no ${name}`)
    return parameter
  }
}

/** Dimensions i and i + d/2 turn together. */
function rotate(head: Vector, position: number, rope: NativeRope): Vector {
  const half = head.length / 2
  const result = new Float64Array(head.length)
  for (let i = 0; i < half; i++) {
    const angle = position * rope.inverseFrequencies[i]!
    const cos = Math.cos(angle) * rope.magnitude
    const sin = Math.sin(angle) * rope.magnitude
    result[i] = head[i]! * cos - head[half + i]! * sin
    result[half + i] = head[half + i]! * cos + head[i]! * sin
  }
  return result
}

function softmax(scores: number[]): number[] {
  const largest = Math.max(...scores)
  const powers = scores.map((score) => Math.exp(score - largest))
  const sum = powers.reduce((a, b) => a + b, 0)
  return powers.map((power) => power / sum)
}

function dot(a: Vector, b: Vector): number {
  let sum = 0
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!
  return sum
}

function add(a: Vector, b: Vector): Vector {
  return a.map((value, i) => value + b[i]!)
}

function range<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index))
}
