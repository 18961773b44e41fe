/** Models whose linear layers are codes, in any mix of stored layouts, written to a folder of their own. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type {
  NativeModelSpec,
  NativeStoredDType,
  NativeStoredTensor,
  NativeWeightManifest,
  NativeWeightPart,
} from '../../lib/native.js'
import { makeWeight, type WeightCase } from '../ops-cases/quantized.js'
import { Random } from '../ops-cases/random.js'
import { testing } from './native-testing.js'
import { smallSpec } from './random-model.js'

/** What a part is stored as, its shape aside; null: fp32 numbers. */
export type PartCase = Omit<WeightCase, 'shape'> | null

export interface CodedModel {
  spec: NativeModelSpec
  manifest: NativeWeightManifest
  /** Of every parameter with codes. */
  values: Map<string, Float32Array>
  remove(): void
}

/** Sizes that fill whole words of every layout. */
export const codedSpec = smallSpec(
  { hiddenSize: 64, vocabularySize: 64 },
  () => ({ mlp: { intermediateSize: 96 } }),
  1,
)

const partsOf: Record<string, number[]> = { qkv: [64, 32, 32], gateUp: [96, 96] }

/** Bytes end to end in one file, every tensor on a boundary of 8. */
class TensorFile {
  readonly chunks: Buffer[] = []
  bytes = 0

  add(values: ArrayBufferView, dtype: NativeStoredDType, shape: number[]): NativeStoredTensor {
    const offset = this.bytes
    const bytes = Buffer.from(values.buffer, values.byteOffset, values.byteLength)
    const gap = Buffer.alloc((8 - (bytes.length % 8)) % 8, 0xff)
    this.chunks.push(Buffer.from(bytes), gap)
    this.bytes += bytes.length + gap.length
    return { file: 0, offset, bytes: bytes.length, dtype, shape }
  }
}

/** `caseOf` says what each part of a matrix is stored as. */
export function writeCodedModel(
  caseOf: (parameter: string, part: number) => PartCase,
  spec: NativeModelSpec = codedSpec,
): CodedModel {
  const random = new Random(3)
  const file = new TensorFile()
  const values = new Map<string, Float32Array>()
  const entries = testing.parametersOf(spec).map(({ name, shape }) => {
    const kind = name.split('.').at(-1)!
    const rows = partsOf[kind] ?? [shape[0]!]
    const isLinear = shape.length === 2 && name !== 'embedding'
    const numbers: Float32Array[] = []
    const parts = rows.map((count, index): NativeWeightPart => {
      const stored = isLinear ? caseOf(kind, index) : null
      if (stored === null) {
        const plain = random.values(count * (shape[1] ?? 1), 'fp32')
        numbers.push(plain)
        return file.add(plain, 'fp32', [count, ...shape.slice(1)])
      }
      const made = makeWeight({ ...stored, shape: [count, shape[1]!] }, random)
      numbers.push(made.numbers)
      return codedPart(file, stored, made.stored)
    })
    if (parts.some((part) => part.quantized)) {
      values.set(name, Float32Array.from(numbers.flatMap((part) => [...part])))
    }
    return { name, parts }
  })
  const folder = mkdtempSync(join(tmpdir(), 'octavo-coded-'))
  const path = join(folder, 'model.bin')
  writeFileSync(path, Buffer.concat(file.chunks))
  return {
    spec,
    manifest: { files: [path], entries },
    values,
    remove: () => rmSync(folder, { recursive: true }),
  }
}

function codedPart(
  file: TensorFile,
  one: NonNullable<PartCase>,
  stored: ReturnType<typeof makeWeight>['stored'],
): NativeWeightPart {
  const { rows, columns, codeType, scaleType, groupColumns = columns, groupRows = 1 } = stored
  const bits = { u2: 2, u3: 3, u4: 4, u8: 8, i8: 8, e4m3: 8 }[codeType]
  const isBytes = codeType === 'i8' || codeType === 'e4m3'
  const groups = Math.ceil(columns / groupColumns)
  const scaleRows = Math.ceil(rows / groupRows)
  const words = (count: number): number => Math.ceil((count * bits) / 32)
  const { layout } = one
  const codesShape = {
    gptq: [words(columns), rows],
    gptq_v2: [words(columns), rows],
    awq: [columns, words(rows)],
    rows: [rows, isBytes ? columns : words(columns)],
  }[layout]
  const isRows = layout === 'rows'
  const activations = one.activations ?? { scaling: 'none' as const }
  const inputScale = one.activations?.inputScale
  return {
    ...file.add(stored.codes, isBytes ? 'u8' : 'i32', codesShape),
    quantized: {
      ...{ layout: layout === 'gptq_v2' ? 'gptq' : layout, codeType, rows, columns },
      ...{ groupRows, groupColumns, zeroOffset: layout === 'gptq' ? 1 : 0 },
      activations: { scaling: activations.scaling, group: one.activations?.group ?? 0 },
      scales: file.add(stored.scales, scaleType, isRows ? [scaleRows, groups] : [groups, rows]),
      zeros: stored.zeros
        ? file.add(
            stored.zeros,
            'i32',
            isRows ? [words(scaleRows), groups] : [groups, words(scaleRows)],
          )
        : null,
      groupIndex: stored.groupIndex
        ? file.add(Int32Array.from(stored.groupIndex), 'i32', [columns])
        : null,
      inputScale:
        inputScale === undefined ? null : file.add(Float32Array.of(inputScale), 'fp32', [1]),
      storedShape:
        isRows && !isBytes
          ? file.add(BigInt64Array.of(BigInt(rows), BigInt(columns)), 'i64', [2])
          : null,
    },
  }
}
