/** Models of random weights, written to a folder of their own. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type {
  NativeDType,
  NativeLayer,
  NativeModelSpec,
  NativeWeightManifest,
  NativeWeightPart,
} from '../../lib/native.js'
import { testing } from './native-testing.js'
import { SeededRandom } from './seeded-random.js'

export interface RandomModel {
  spec: NativeModelSpec
  manifest: NativeWeightManifest
  /** What every parameter holds, exactly: all values fit bf16 and fp16. */
  values: Map<string, Float32Array>
  remove(): void
}

const layer: NativeLayer = {
  attention: {
    heads: 4,
    kvHeads: 2,
    headDim: 16,
    scale: 0.25,
    window: 0,
    rope: 0,
    qkvBias: false,
    outputBias: false,
    queryKeyNorm: false,
  },
  mlp: { intermediateSize: 40, bias: false },
}

/** A small spec; `attention` and `mlp` change every layer, by its index. */
export function smallSpec(
  change: Partial<NativeModelSpec> = {},
  perLayer: (index: number) => {
    attention?: Partial<NativeLayer['attention']>
    mlp?: Partial<NativeLayer['mlp']>
  } = () => ({}),
  layers = 2,
): NativeModelSpec {
  return {
    family: 'random',
    vocabularySize: 50,
    sampledVocabulary: 48,
    hiddenSize: 24,
    contextLength: 256,
    normEpsilon: 1e-6,
    tiedEmbeddings: false,
    ropes: [
      {
        inverseFrequencies: Float32Array.from({ length: 8 }, (_, i) => 100 ** (-i / 8)),
        magnitude: 1,
      },
    ],
    layers: Array.from({ length: layers }, (_, index) => ({
      attention: { ...layer.attention, ...perLayer(index).attention },
      mlp: { ...layer.mlp, ...perLayer(index).mlp },
    })),
    ...change,
  }
}

/** Rows of the tensors that a parameter is stacked from. */
function partRows(name: string, rows: number, spec: NativeModelSpec): number[] {
  const [, index] = /^layers\.(\d+)\./.exec(name) ?? []
  if (index === undefined) return [rows]
  const { heads, kvHeads, headDim } = spec.layers[Number(index)]!.attention
  if (/qkv/.test(name)) return [heads * headDim, kvHeads * headDim, kvHeads * headDim]
  if (/gateUp/.test(name)) return [rows / 2, rows / 2]
  return [rows]
}

/** Multiples of 1/64 below 2 in size, around 1 for norms: eight significant bits. */
function randomValues(name: string, count: number, random: SeededRandom): Float32Array {
  const middle = /[nN]orm$/.test(name) ? 64 : 0
  return Float32Array.from({ length: count }, () => {
    const value = Math.round(middle + 12 * random.normal())
    return Math.max(-120, Math.min(120, value)) / 64
  })
}

function encode(values: Float32Array, dtype: NativeDType): Buffer {
  const bytes = Buffer.from(values.buffer, values.byteOffset, values.byteLength)
  if (dtype === 'fp32') return Buffer.from(bytes)
  const words = new Uint32Array(bytes.buffer, bytes.byteOffset, values.length)
  const halves = Uint16Array.from(words, dtype === 'bf16' ? (word) => word >>> 16 : toHalf)
  return Buffer.from(halves.buffer)
}

/** fp32 bits → fp16 bits, for zero and values that are normal and exact in fp16. */
function toHalf(word: number): number {
  if ((word & 0x7fffffff) === 0) return word >>> 16
  const exponent = ((word >>> 23) & 0xff) - 127 + 15
  return ((word >>> 16) & 0x8000) | (exponent << 10) | ((word >>> 13) & 0x3ff)
}

export interface RandomModelOptions {
  seed: number
  files?: number
  /** dtype of a tensor: parameter name and part index. */
  dtypeOf?: (name: string, part: number) => NativeDType
}

/** Tensors are strewn over the files in random order with gaps between them. */
export function writeRandomModel(spec: NativeModelSpec, options: RandomModelOptions): RandomModel {
  const { files = 2, dtypeOf = (): NativeDType => 'fp32' } = options
  const random = new SeededRandom(options.seed)
  const folder = mkdtempSync(join(tmpdir(), 'octavo-model-'))
  const paths = Array.from({ length: files }, (_, index) => join(folder, `${index}.bin`))
  const chunks: Buffer[][] = paths.map(() => [])
  const sizes = paths.map(() => 0)
  const values = new Map<string, Float32Array>()
  const jobs: { part: NativeWeightPart; bytes: Buffer }[] = []

  const entries = testing.parametersOf(spec).map(({ name, shape }) => {
    const all = randomValues(
      name,
      shape.reduce((product, size) => product * size, 1),
      random,
    )
    values.set(name, all)
    let done = 0
    const parts = partRows(name, shape[0]!, spec).map((rows, index): NativeWeightPart => {
      const dtype = dtypeOf(name, index)
      const count = (all.length / shape[0]!) * rows
      const bytes = encode(all.slice(done, done + count), dtype)
      done += count
      const part = {
        file: 0,
        offset: 0,
        bytes: bytes.length,
        dtype,
        shape: [rows, ...shape.slice(1)],
      }
      jobs.push({ part, bytes })
      return part
    })
    return { name, parts }
  })
  for (const { part, bytes } of random.shuffle(jobs)) {
    part.file = random.between(0, files - 1)
    const gap = Buffer.alloc(random.between(0, 40), 0xff)
    part.offset = sizes[part.file]! + gap.length
    chunks[part.file]!.push(gap, bytes)
    sizes[part.file] = part.offset + bytes.length
  }
  paths.forEach((path, index) => writeFileSync(path, Buffer.concat(chunks[index]!)))
  return {
    spec,
    manifest: { files: paths, entries },
    values,
    remove: () => rmSync(folder, { recursive: true }),
  }
}
