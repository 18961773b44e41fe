/**
 * The JSON header of a safetensors file, validated as the format demands
 * (huggingface/safetensors, README "Format" and safetensors/src/tensor.rs).
 */
import { OctavoError } from '../errors.js'
import { elementBits } from './dtypes.js'
import { listNames, shorten } from './fields.js'
import { isObject, parseJsonObject } from './json.js'
import { repeatedKey } from './repeated-key.js'

export interface TensorInfo {
  name: string
  /** Safetensors' name: `F32`, `BF16`, … */
  dtype: string
  shape: number[]
  /** From the start of the file. */
  offset: number
  bytes: number
}

/**
 * Tensors of a header, by offset. `dataStart` is where the data begins in the file, `fileBytes` where it
 * ends. Throws OCTAVO_CHECKPOINT_INVALID naming file and tensor: unknown dtype, bad shape, a range that
 * leaves the file, does not match its shape, overlaps another or leaves a hole.
 */
export function parseHeader(
  file: string,
  text: string,
  dataStart: number,
  fileBytes: number,
): TensorInfo[] {
  if (!text.startsWith('{')) throw invalid(file, 'its header does not begin with "{"')
  const header = parseJsonObject(`the header of ${file}`, text)
  const repeated = repeatedKey(text, header)
  if (repeated !== null) throw invalid(file, `its header has ${repeated} twice`)
  checkMetadata(file, header['__metadata__'])
  const tensors: TensorInfo[] = []
  for (const [name, entry] of Object.entries(header)) {
    if (name === '__metadata__') continue
    tensors.push(parseTensor(file, name, entry, dataStart))
  }
  tensors.sort((a, b) => a.offset - b.offset || a.bytes - b.bytes)
  checkLayout(file, tensors, dataStart, fileBytes)
  return tensors
}

function parseTensor(file: string, name: string, entry: unknown, dataStart: number): TensorInfo {
  if (!isObject(entry)) throw invalidTensor(file, name, 'is not described by an object')
  const { dtype, shape, data_offsets: range } = entry
  const bits = typeof dtype === 'string' ? elementBits.get(dtype) : undefined
  if (bits === undefined) throw invalidTensor(file, name, `has unknown dtype ${quote(dtype)}`)
  if (!Array.isArray(shape) || !shape.every(isCount)) {
    throw invalidTensor(
      file,
      name,
      `must have a shape of non-negative integers, has ${quote(shape)}`,
    )
  }
  if (!Array.isArray(range) || range.length !== 2 || !range.every(isCount)) {
    throw invalidTensor(
      file,
      name,
      `must have two data_offsets ≥ 0 with begin ≤ end, has ${quote(range)}`,
    )
  }
  const [begin, end] = range as [number, number]
  if (begin > end)
    throw invalidTensor(file, name, `has offsets ${begin} to ${end}, which run backwards`)
  const bytes = tensorBytes(shape, bits)
  if (bytes !== end - begin) {
    const needs = bytes === null ? 'more bytes than a file can have' : `${bytes} bytes`
    const says = `${dtype as string} ${quote(shape)} takes ${needs}`
    throw invalidTensor(file, name, `has ${end - begin} bytes of data, but ${says}`)
  }
  return { name, dtype: dtype as string, shape, offset: dataStart + begin, bytes }
}

/** Every byte of the data belongs to exactly one tensor. */
function checkLayout(
  file: string,
  tensors: readonly TensorInfo[],
  dataStart: number,
  fileBytes: number,
): void {
  let end = dataStart
  let previous = ''
  for (const { name, offset, bytes } of tensors) {
    if (offset + bytes > fileBytes) {
      const where = `bytes ${offset} to ${offset + bytes}, but the file ends at ${fileBytes}`
      throw invalidTensor(file, name, `lies at ${where}; it may be an incomplete download`)
    }
    if (offset < end) throw invalidTensor(file, name, `overlaps ${quote(previous)}`)
    if (offset > end)
      throw invalidTensor(file, name, `leaves ${offset - end} unused bytes before it`)
    end = offset + bytes
    previous = name
  }
  if (end === fileBytes) return
  throw invalid(file, `its tensors end at byte ${end}, but the file has ${fileBytes}`)
}

function checkMetadata(file: string, metadata: unknown): void {
  if (metadata === undefined) return
  const strings =
    isObject(metadata) && Object.values(metadata).every((value) => typeof value === 'string')
  if (!strings) throw invalid(file, '"__metadata__" in its header must map strings to strings')
}

/** null when the product passes 2^53, or is not whole bytes. */
function tensorBytes(shape: readonly number[], bits: number): number | null {
  if (shape.includes(0)) return 0
  let elements = 1
  for (const size of shape) {
    elements *= size
    if (elements > Number.MAX_SAFE_INTEGER / 64) return null
  }
  const bytes = (elements * bits) / 8
  return Number.isInteger(bytes) ? bytes : null
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

function quote(value: unknown): string {
  return shorten(JSON.stringify(value) ?? 'nothing')
}

function invalid(file: string, problem: string): OctavoError {
  return new OctavoError('OCTAVO_CHECKPOINT_INVALID', `${file} is broken: ${problem}`)
}

function invalidTensor(file: string, name: string, problem: string): OctavoError {
  return invalid(file, `tensor "${listNames([name])}" ${problem}`)
}
