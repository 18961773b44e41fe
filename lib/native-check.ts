/** Whether the addon found is the one that this package needs, and what to do where it is not. */
import { join } from 'node:path'
import { OctavoError } from './errors.js'
import type { NativeAddon } from './native.js'
import type { NativeOps } from './ops/native.js'

type FunctionName<T> = {
  [K in keyof T]: T[K] extends (...args: never[]) => unknown ? K : never
}[keyof T]

/** The types make the compiler hold these two to the interfaces. */
const functions: Record<FunctionName<NativeAddon>, true> = {
  cudaStatus: true,
  listDevices: true,
  memoryUse: true,
  loadEngine: true,
  planMemory: true,
  liveObjects: true,
}

const ops: Record<keyof NativeOps, true> = {
  open: true,
  close: true,
  deviceInfo: true,
  deviceMemoryUse: true,
  deviceLedger: true,
  deviceWorkspace: true,
  synchronize: true,
  createBuffer: true,
  destroyBuffer: true,
  writeBuffer: true,
  readBuffer: true,
  fillBuffer: true,
  convert: true,
  embedding: true,
  gatherRows: true,
  rmsNorm: true,
  addRmsNorm: true,
  add: true,
  headNorm: true,
  linear: true,
  quantizedLinear: true,
  groupedLinear: true,
  fusedLinear: true,
  linearTiles: true,
  tuneLinear: true,
  keepTuned: true,
  dequantize: true,
  repack: true,
  arrange: true,
  rope: true,
  kvWrite: true,
  ropeKvWrite: true,
  copyBlocks: true,
  pagedAttention: true,
  ropeAttention: true,
  latentWrite: true,
  latentRead: true,
  latentAttention: true,
  expandedAttention: true,
  swiglu: true,
  fillRandom: true,
  sample: true,
}

const packageRoot = join(__dirname, '..')

const missing = (sentence: string, cause?: unknown): OctavoError =>
  new OctavoError('OCTAVO_NATIVE_MISSING', sentence, { cause })

/** The folder that the user set to be looked in, which the loader of native.ts obeys. */
const ownFolder = (): string | undefined => process.env['OCTAVO_PREBUILD'] || undefined

/** What helps against an addon that is found and does not fit. */
function remedy(): string {
  const own = ownFolder()
  if (own === undefined) {
    return 'build it again with `npx octavo build`, or remove build/Release to use the shipped one'
  }
  return `it comes from the folder in the environment variable OCTAVO_PREBUILD, ${own}: correct or unset it`
}

/** OCTAVO_NATIVE_MISSING for an addon that could not be loaded. */
export function notFound(cause: unknown): OctavoError {
  const { message } = cause as Error
  const what = `no octavo.node for ${process.platform}-${process.arch} could be loaded from`
  const own = ownFolder()
  const sentence =
    own === undefined
      ? `${what} ${join(packageRoot, 'build', 'Release')} or ${join(packageRoot, 'prebuilds')}: ` +
        'build it with `npx octavo build`'
      : `${what} the folder in the environment variable OCTAVO_PREBUILD, ${own}: correct it ` +
        '(it must hold build/Release or prebuilds) or unset it'
  return missing(`${sentence} (${message})`, cause)
}

const noFunctions = (owner: object, names: object): string[] =>
  Object.keys(names).filter((name) => typeof (owner as never)[name] !== 'function')

function lackingIn(found: Partial<NativeAddon>): string[] {
  const own = noFunctions(found, functions)
  if (typeof found.ops !== 'object' || found.ops === null) return [...own, 'ops']
  return [...own, ...noFunctions(found.ops, ops).map((name) => `ops.${name}`)]
}

/** Throws OCTAVO_NATIVE_MISSING for an addon of another version, or one that lacks a function. */
export function checkAddon(found: Partial<NativeAddon>, version: string): NativeAddon {
  if (found.version !== version) {
    const sentence = `the octavo.node found is of version ${found.version}, this package is ${version}`
    throw missing(`${sentence}: ${remedy()}`)
  }
  const lacking = lackingIn(found)
  if (lacking.length === 0) return found as NativeAddon
  const sentence = `the octavo.node found lacks ${lacking.join(', ')}: it is of an older build of ${version}`
  throw missing(`${sentence}; ${remedy()}`)
}
