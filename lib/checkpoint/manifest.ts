/** Parameters matched with stored tensors: what the runtime will read, checked before it takes memory. */
import { OctavoError } from '../errors.js'
import type { ParameterSource, TensorSource } from '../families/family.js'
import type { NativeDType, NativeWeightManifest, NativeWeightPart } from '../native.js'
import { weightDTypes } from './dtypes.js'
import { listNames } from './fields.js'
import { storedName, type Naming } from './naming.js'
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
): Assembly {
  refuseMissing(sources, table, naming)
  const used = new Set<string>()
  const bytesOf = new Map<NativeDType, number>([
    ['fp32', 0],
    ['bf16', 0],
    ['fp16', 0],
  ])
  let weightBytes = 0
  let parameters = 0
  const entries = sources.map(({ name, parts }) => ({
    name,
    parts: parts.map((source): NativeWeightPart => {
      const tensor = table.tensors.get(storedName(naming, source.tensor))!
      const part = partOf(source, tensor, table)
      used.add(tensor.name)
      weightBytes += part.bytes
      parameters += part.shape.reduce((product, size) => product * size, 1)
      if (part.shape.length > 1) bytesOf.set(part.dtype, bytesOf.get(part.dtype)! + part.bytes)
      return part
    }),
  }))
  for (const entry of entries) refuseMixed(entry)
  const unused = [...table.tensors.keys()].filter((name) => !used.has(name))
  const dtype = [...bytesOf].reduce((best, next) => (next[1] > best[1] ? next : best))[0]
  return { manifest: { files: table.files, entries }, unused, dtype, weightBytes, parameters }
}

function partOf(source: TensorSource, tensor: StoredTensor, table: TensorTable): NativeWeightPart {
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
  return { file: tensor.file, offset, bytes, dtype, shape }
}

function refuseMissing(
  sources: readonly ParameterSource[],
  table: TensorTable,
  naming: Naming,
): void {
  const names = sources.flatMap(({ parts }) =>
    parts.map(({ tensor }) => storedName(naming, tensor)),
  )
  const missing = names.filter((name) => !table.tensors.has(name))
  if (missing.length === 0) return
  const count = `${missing.length} of ${names.length} tensors ${missing.length === 1 ? 'is' : 'are'} missing`
  throw mismatch(`${count}: ${listNames(missing)}`)
}

/** A parameter is stored as one dtype. */
function refuseMixed({ name, parts }: NativeWeightManifest['entries'][number]): void {
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
