/** Parameters read straight through a manifest's part offsets: independent of the runtime's loader. */
import { closeSync, openSync, readSync } from 'node:fs'
import type { NativeDType, NativeWeightManifest } from '../../lib/native.js'

export interface Parameter {
  /** Every element exactly: fp32 holds fp16 and bf16. */
  values: Float32Array
  /** [rows, columns], or [elements] */
  shape: number[]
}

/** All parameters of a manifest, parts concatenated along the first dimension. */
export function readParameters(manifest: NativeWeightManifest): Map<string, Parameter> {
  const files = manifest.files.map((path) => openSync(path, 'r'))
  try {
    const parameters = new Map<string, Parameter>()
    for (const { name, parts } of manifest.entries) {
      const values = new Float32Array(parts.reduce((sum, { shape }) => sum + elementsOf(shape), 0))
      let done = 0
      for (const { file, offset, bytes, dtype, shape } of parts) {
        const raw = new Uint8Array(bytes)
        if (readSync(files[file]!, raw, 0, bytes, offset) !== bytes)
          throw new Error(`${name} is short`)
        values.set(toFloats(raw, dtype as NativeDType), done)
        done += elementsOf(shape)
      }
      const rows = parts.reduce((sum, { shape }) => sum + shape[0]!, 0)
      parameters.set(name, { values, shape: [rows, ...parts[0]!.shape.slice(1)] })
    }
    return parameters
  } finally {
    for (const file of files) closeSync(file)
  }
}

export function elementsOf(shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, 1)
}

function toFloats(raw: Uint8Array, dtype: NativeDType): Float32Array {
  if (dtype === 'fp32') return new Float32Array(raw.buffer)
  const halves = new Uint16Array(raw.buffer)
  if (dtype === 'fp16') return Float32Array.from(halves, halfToNumber)
  const bits = new Uint32Array(halves.length)
  for (let i = 0; i < halves.length; i++) bits[i] = halves[i]! << 16
  return new Float32Array(bits.buffer)
}

function halfToNumber(half: number): number {
  const sign = half & 0x8000 ? -1 : 1
  const exponent = (half >> 10) & 0x1f
  const fraction = half & 0x3ff
  if (exponent === 0x1f) return fraction ? NaN : sign * Infinity
  if (exponent === 0) return sign * fraction * 2 ** -24
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15)
}
