/** Parameters matched with stored tensors: what the runtime will read, checked before it takes memory. */
import { OctavoError } from '../errors.js'
import type { ParameterSource, TensorSource } from '../families/family.js'
import type { NativeDType, NativeWeightManifest, NativeWeightPart } from '../native.js'
import { weightDTypes } from './dtypes.js'
import { listNames } from './fields.js'
import { storedName, type Naming } from './naming.js'
import { hasCodes, neededTensors, quantizedPart } from './quantization/parts.js'
import type { Quantization, QuantizationScheme } from './quantization/scheme.js'
import type { StoredTensor, TensorTable } from './tensors.js'

export interface Assembly {
  manifest: NativeWeightManifest
  /** Names of the tensors that no parameter uses. */
  unused: string[]
  /** Of most of the matrices' bytes. */
  dtype: NativeDType
  weightBytes: number
  parameters: number
}

/**
 * Every part in place. Throws OCTAVO_CHECKPOINT_MISMATCH for missing tensors and other shapes,
 * OCTAVO_UNSUPPORTED_MODEL for dtypes the runtime does not have.
 */
export function assemble(
  sources: readonly ParameterSource[],
  table: TensorTable,
  naming: Naming,
  quantization: Quantization | null,
): Assembly {
  const matched = sources.map(({ name, parts }) => ({
    name,
    parts: parts.map((source) => matchOf(name, source, table, naming, quantization)),
  }))
  refuseMissing(
    matched.flatMap(({ parts }) => parts),
    table,
  )
  const used = new Set<string>()
  const totals = new Totals()
  const entries = matched.map(({ name, parts }) => ({
    name,
    parts: parts.map((match): NativeWeightPart => {
      const { part, tensors } =
        match.scheme === null
          ? densePart(match, table)
          : quantizedPart({ module: match.module, shape: match.shape }, match.scheme, table)
      for (const tensor of tensors) used.add(tensor.name)
      totals.add(part, match.source.shape, tensors)
      return part
    }),
  }))
  for (const entry of entries) refuseMixed(entry)
  const unused = [...table.tensors.keys()].filter((name) => !used.has(name))
  const { dtype, weightBytes, parameters } = totals
  return { manifest: { files: table.files, entries }, unused, dtype, weightBytes, parameters }
}

/** A part of a parameter: a tensor, or the tensors of a quantised layer. */
type Match = { source: TensorSource; stored: string } & (
  | { scheme: null }
  | { scheme: QuantizationScheme; module: string; shape: readonly [number, number] }
)

function matchOf(
  parameter: string,
  source: TensorSource,
  table: TensorTable,
  naming: Naming,
  quantization: Quantization | null,
): Match {
  const stored = storedName(naming, source.tensor)
  const module = stored.replace(/\.weight$/, '')
  const [rows, columns] = source.shape
  const isLinear = module !== stored && columns !== undefined && parameter !== 'embedding'
  if (quantization === null || !isLinear) return { source, stored, scheme: null }
  const shape = [rows!, columns] as const
  const scheme = quantization.schemeOf(module)
  if (scheme !== null && hasCodes({ module, shape }, scheme, table)) {
    return { source, stored, scheme, module, shape }
  }
  const packed = ['qweight', 'weight_packed'].find((name) => table.tensors.has(`${module}.${name}`))
  if (packed === undefined || table.tensors.has(stored)) return { source, stored, scheme: null }
  const says = `the ${quantization.method} config leaves "${module}" as it is`
  throw mismatch(`${says}, but the files hold "${module}.${packed}" and no "${stored}"`)
}

/** What the parts add up to. */
class Totals {
  weightBytes = 0
  parameters = 0
  readonly #bytesOf = new Map<NativeDType, number>([
    ['fp32', 0],
    ['bf16', 0],
    ['fp16', 0],
  ])

  add(part: NativeWeightPart, shape: readonly number[], tensors: readonly StoredTensor[]): void {
    this.weightBytes += tensors.reduce((sum, { bytes }) => sum + bytes, 0)
    this.parameters += shape.reduce((product, size) => product * size, 1)
    const bytes = this.#bytesOf.get(part.dtype as NativeDType)
    if (part.quantized || bytes === undefined || shape.length < 2) return
    this.#bytesOf.set(part.dtype as NativeDType, bytes + part.bytes)
  }

  /** Of most of the plain matrices' bytes. */
  get dtype(): NativeDType {
    return [...this.#bytesOf].reduce((best, next) => (next[1] > best[1] ? next : best))[0]
  }
}

function densePart(
  { source, stored }: Match,
  table: TensorTable,
): { part: NativeWeightPart; tensors: StoredTensor[] } {
  const tensor = table.tensors.get(stored)!
  const file = table.fileNames[tensor.file]
  const { offset, bytes, shape } = tensor
  if (shape.length !== source.shape.length || shape.some((size, i) => size !== source.shape[i])) {
    const shapes = `has shape [${listShape(shape)}], the config makes it [${source.shape.join(', ')}]`
    throw mismatch(`"${tensor.name}" in ${file} ${shapes}`)
  }
  const dtype = weightDTypes.get(tensor.dtype)
  if (dtype === undefined) {
    const problem = `"${tensor.name}" in ${file} is ${tensor.dtype}; octavo runs F32, BF16 and F16 weights`
    throw new OctavoError('OCTAVO_UNSUPPORTED_MODEL', problem)
  }
  return { part: { file: tensor.file, offset, bytes, dtype, shape }, tensors: [tensor] }
}

function refuseMissing(matches: readonly Match[], table: TensorTable): void {
  const names = matches.flatMap((match) =>
    match.scheme === null ? [[match.stored]] : neededTensors(match, match.scheme),
  )
  const missing = names.filter((choices) => !choices.some((name) => table.tensors.has(name)))
  if (missing.length === 0) return
  const count = `${missing.length} of ${names.length} tensors ${missing.length === 1 ? 'is' : 'are'} missing`
  throw mismatch(`${count}: ${listNames(missing.map((choices) => choices.join(' or ')))}`)
}

/** A parameter is stored as one dtype, unless codes divide it. */
function refuseMixed({ name, parts }: NativeWeightManifest['entries'][number]): void {
  if (parts.some((part) => part.quantized)) return
  const dtypes = [...new Set(parts.map((part) => part.dtype))]
  if (dtypes.length > 1)
    throw mismatch(`the tensors of ${name} have different dtypes: ${dtypes.join(', ')}`)
}

function listShape(shape: readonly number[]): string {
  return shape.length <= 8 ? shape.join(', ') : `${shape.length} dimensions`
}

function mismatch(problem: string): OctavoError {
  return new OctavoError('OCTAVO_CHECKPOINT_MISMATCH', problem)
}
