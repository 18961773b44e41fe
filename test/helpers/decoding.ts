/** Driving a testing Model: block tables, chunks, greedy steps. */
import type { NativeDType, NativeModelSpec } from '../../lib/native.js'
import {
  openMemory,
  testing,
  type BatchLimits,
  type Memory,
  type Model,
  type Sequence,
} from './native-testing.js'
import type { SeededRandom } from './seeded-random.js'

export const roomy: BatchLimits = {
  maxTokens: 320,
  maxSequences: 8,
  maxBlocksPerSequence: 32,
  maxLogitRows: 320,
}

export interface OpenedModel {
  memory: Memory
  model: Model
  vocabulary: number
}

export function openModel(
  load: { spec: NativeModelSpec; manifest: Parameters<typeof testing.validateManifest>[1] },
  options: {
    activations?: NativeDType
    kvDType?: NativeDType
    blockSize?: number
    limits?: BatchLimits
  } = {},
): OpenedModel {
  const { activations = 'fp32', kvDType = activations, blockSize = 16, limits = roomy } = options
  const memory = openMemory()
  const model = new testing.Model(memory, {
    ...load,
    dtype: activations,
    keepFileDType: activations === 'fp32',
  })
  model.openDecoder({ activations, kvDType, blockSize, blocks: 64, limits })
  return { memory, model, vocabulary: load.spec.vocabularySize }
}

/** Logits of every position, computed in chunks of the given lengths over the given blocks. */
export function logitsInChunks(
  { model }: OpenedModel,
  ids: readonly number[],
  blocks: number[],
  chunks: readonly number[],
): Float32Array[] {
  let start = 0
  return chunks.map((length) => {
    const tokens = ids.slice(start, start + length)
    start += length
    return model.forward([{ tokens, start: start - length, blocks, everyLogit: true }])
  })
}

/** A random cut of `total` tokens. */
export function randomChunks(total: number, random: SeededRandom): number[] {
  const chunks: number[] = []
  for (let left = total; left > 0; left -= chunks.at(-1)!)
    chunks.push(random.between(1, Math.min(left, 40)))
  return chunks
}

export function concat(pieces: readonly Float32Array[]): Float32Array {
  const all = new Float32Array(pieces.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const piece of pieces) {
    all.set(piece, at)
    at += piece.length
  }
  return all
}

export function argmax(row: Float32Array): number {
  return row.reduce((best, value, index) => (value > row[best]! ? index : best), 0)
}

/** Greedy steps of several sequences in one batch each; the first step is their prompts. */
export function greedy(
  { model, vocabulary }: OpenedModel,
  prompts: readonly (readonly number[])[],
  tables: readonly number[][],
  steps: number,
): number[][] {
  const all = prompts.map((prompt) => [...prompt])
  const done = all.map(() => 0)
  for (let step = 0; step < steps; step++) {
    const sequences = all.map((ids, index): Sequence => {
      const start = done[index]!
      done[index] = ids.length
      return { tokens: ids.slice(start), start, blocks: tables[index]! }
    })
    const logits = model.forward(sequences)
    all.forEach((ids, index) =>
      ids.push(argmax(logits.subarray(index * vocabulary, (index + 1) * vocabulary))),
    )
  }
  return all
}

/** Largest difference over the largest reference value. */
export function relativeError(actual: Float32Array, expected: Float64Array | Float32Array): number {
  expect(actual.length).toBe(expected.length)
  let difference = 0
  let largest = 0
  expected.forEach((value, index) => {
    largest = Math.max(largest, Math.abs(value))
    const error = Math.abs(value - actual[index]!)
    difference = Number.isFinite(error) ? Math.max(difference, error) : Infinity
  })
  return difference / largest
}

export function cosine(actual: Float32Array, expected: Float64Array | Float32Array): number {
  let [product, left, right] = [0, 0, 0]
  expected.forEach((value, index) => {
    product += value * actual[index]!
    left += actual[index]! ** 2
    right += value ** 2
  })
  return product / Math.sqrt(left * right)
}
