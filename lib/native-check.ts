/** Whether the addon found is the one that this package needs, and what to do where it is not. */
import { join } from 'node:path'
import { OctavoError } from './errors.js'
import type { NativeAddon } from './native.js'

type FunctionName<T> = {
  [K in keyof T]: T[K] extends (...args: never[]) => unknown ? K : never
}[keyof T]

/** The type makes the compiler hold it to the interface. */
const functions: Record<FunctionName<NativeAddon>, true> = {
  cudaStatus: true,
  listDevices: true,
  memoryUse: true,
  loadEngine: true,
  planMemory: true,
  liveObjects: true,
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

/** Throws OCTAVO_NATIVE_MISSING for an addon of another version, or one that lacks a function. */
export function checkAddon(found: Partial<NativeAddon>, version: string): NativeAddon {
  if (found.version !== version) {
    const sentence = `the octavo.node found is of version ${found.version}, this package is ${version}`
    throw missing(`${sentence}: ${remedy()}`)
  }
  const names = Object.keys(functions) as (keyof typeof functions)[]
  const lacking: string[] = names.filter((name) => typeof found[name] !== 'function')
  if (typeof found.ops !== 'object' || found.ops === null) lacking.push('ops')
  if (lacking.length === 0) return found as NativeAddon
  const sentence = `the octavo.node found lacks ${lacking.join(', ')}: it is of an older build of ${version}`
  throw missing(`${sentence}; ${remedy()}`)
}
