/** The tensors of a quantised layer, matched with what its scheme and its shape make them. */
import { codeBits } from '../../code-type.js'
import { OctavoError } from '../../errors.js'
import type { NativeStoredTensor, NativeWeightPart } from '../../native.js'
import { storedDTypes } from '../dtypes.js'
import type { StoredTensor, TensorTable } from '../tensors.js'
import type { QuantizationScheme } from './scheme.js'

const floats = ['F32', 'BF16', 'F16']

/** A linear layer of a checkpoint: its full name and the shape of its weight. */
export interface LinearLayer {
  module: string
  shape: readonly [rows: number, columns: number]
}

/**
 * Whether the files hold the layer in codes: the tensors decide, since configs leave layers out in ways of their own.
 */
export function hasCodes(
  { module }: LinearLayer,
  scheme: QuantizationScheme,
  table: TensorTable,
): boolean {
  const tensor = table.tensors.get(`${module}.${scheme.tensors.codes}`)
  if (tensor === undefined) return !table.tensors.has(`${module}.weight`)
  return scheme.tensors.codes !== 'weight' || !floats.includes(tensor.dtype)
}

/** Names of the tensors that the layer cannot do without; of several names for one, the first. */
export function neededTensors({ module }: LinearLayer, scheme: QuantizationScheme): string[][] {
  const { codes, scales, zeros, inputScale } = scheme.tensors
  const names = [[codes], [...scales], ...(zeros === null ? [] : [[zeros]]), [...inputScale]]
  return names
    .filter((choices) => choices.length > 0)
    .map((choices) => choices.map((name) => `${module}.${name}`))
}

export interface QuantizedPart {
  part: NativeWeightPart
  tensors: StoredTensor[]
}

/**
 * All tensors of a layer, whose needed ones are there. Throws OCTAVO_CHECKPOINT_MISMATCH for another shape,
 * OCTAVO_UNSUPPORTED_MODEL for another dtype, each naming the tensor and both values.
 */
export function quantizedPart(
  layer: LinearLayer,
  scheme: QuantizationScheme,
  table: TensorTable,
): QuantizedPart {
  const tensors: StoredTensor[] = []
  const [rows, columns] = layer.shape
  const groupRows = Math.min(scheme.groupRows ?? rows, rows)
  const groupColumns = Math.min(scheme.groupColumns ?? columns, columns)
  const shapes = shapesOf(layer, scheme)

  const take = (
    names: readonly string[],
    shape: Shapes,
    dtypes: readonly string[],
  ): NativeStoredTensor | null => {
    const name = names.find((suffix) => table.tensors.has(`${layer.module}.${suffix}`))
    if (name === undefined) return null
    const tensor = table.tensors.get(`${layer.module}.${name}`)!
    requireTensor(
      tensor,
      shape,
      dtypes,
      table,
      `${scheme.name} makes a [${rows}, ${columns}] layer's`,
    )
    tensors.push(tensor)
    const { file, offset, bytes } = tensor
    return { file, offset, bytes, dtype: storedDTypes.get(tensor.dtype)!, shape: tensor.shape }
  }
  const listed = (name: string | null): string[] => (name === null ? [] : [name])
  const { tensors: names } = scheme
  const codes = take([names.codes], shapes.codes, [scheme.dtype])!
  const quantized = {
    layout: scheme.layout,
    codeType: scheme.codeType,
    rows,
    columns,
    groupRows,
    groupColumns,
    zeroOffset: scheme.zeroOffset,
    activations: scheme.activations,
    scales: take(names.scales, shapes.scales, floats)!,
    zeros: take(listed(names.zeros), shapes.zeros, ['I32']),
    groupIndex: take(listed(names.groupIndex), [[columns]], ['I32']),
    inputScale: take(names.inputScale, [[1], []], floats),
    storedShape: take(listed(names.shape), [[2]], ['I64']),
  }
  return { part: { ...codes, quantized }, tensors }
}

/** Any of these will do. */
export type Shapes = readonly (readonly number[])[]

/** Of the tensors of a layer. */
export function shapesOf(
  { shape: [rows, columns] }: LinearLayer,
  scheme: QuantizationScheme,
): Record<'codes' | 'scales' | 'zeros', Shapes> {
  const { layout, codeType, dtype, groupRows } = scheme
  const scaleRows = Math.ceil(rows / Math.min(groupRows ?? rows, rows))
  const groups = Math.ceil(columns / Math.min(scheme.groupColumns ?? columns, columns))
  const words = (count: number): number => Math.ceil((count * codeBits[codeType]) / 32)
  if (layout !== 'rows') {
    const codes = layout === 'gptq' ? [words(columns), rows] : [columns, words(rows)]
    return { codes: [codes], scales: [[groups, rows]], zeros: [[groups, words(rows)]] }
  }
  const grid = [scaleRows, groups]
  const isWhole = scaleRows === 1 && groups === 1
  return {
    codes: [dtype === 'I32' ? [rows, words(columns)] : [rows, columns]],
    scales: !isWhole ? [grid] : groupRows === null ? [[1], [], grid] : [grid, [1], []],
    zeros: [[words(scaleRows), groups]],
  }
}

function requireTensor(
  tensor: StoredTensor,
  shapes: Shapes,
  dtypes: readonly string[],
  table: TensorTable,
  maker: string,
): void {
  const place = `"${tensor.name}" in ${table.fileNames[tensor.file]}`
  const fits = shapes.some(
    (shape) =>
      shape.length === tensor.shape.length && shape.every((size, i) => size === tensor.shape[i]),
  )
  if (!fits) {
    const sizes = tensor.shape.length <= 8 ? tensor.shape.join(', ') : `${tensor.shape.length} axes`
    const problem = `${place} has shape [${sizes}], ${maker} [${shapes[0]!.join(', ')}]`
    throw new OctavoError('OCTAVO_CHECKPOINT_MISMATCH', problem)
  }
  if (dtypes.includes(tensor.dtype)) return
  const problem = `${place} is ${tensor.dtype}, ${maker} ${dtypes.join(' or ')}`
  throw new OctavoError('OCTAVO_UNSUPPORTED_MODEL', problem)
}
