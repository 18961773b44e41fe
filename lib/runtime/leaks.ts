/** Names and releases handles that were garbage-collected without being disposed. */
import { dirname, sep } from 'node:path'

/** `code` of the process warning. */
export const undisposedCode = 'OCTAVO_UNDISPOSED'

/** What is left of a handle once it is gone. Must not reach the handle itself, or it is never collected. */
export interface Leak {
  /** "an Engine", "a Session" … */
  what: string
  /** Where it was created. */
  stack: string
  /** Frees what it held; returns false when there was nothing left to free. */
  release: () => boolean | void
}

const registry = new FinalizationRegistry<Leak>(({ what, stack, release }) => {
  let outcome = 'octavo released it'
  try {
    if (release() === false) return
  } catch (error) {
    // A throw out of a registry's callback would end the process.
    outcome = `releasing it failed: ${String(error)}`
  }
  process.emitWarning(
    `${what} was garbage-collected without dispose(); ${outcome}. ` +
      'Use `using`, `await using` or dispose().',
    { code: undisposedCode, detail: stack },
  )
})

/** `handle` is watched until `unwatch(handle)`. */
export function watch(handle: object, leak: Leak): void {
  registry.register(handle, leak, handle)
}

export function unwatch(handle: object): void {
  registry.unregister(handle)
}

/** Frames of this package are not the user's. */
const packageFolder = dirname(__dirname) + sep

/**
 * Where the user's code stands: the frames outside this package. A string at once: an Error whose stack is
 * not formatted yet keeps the receivers of its frames alive.
 */
export function creationStack(): string {
  const holder: { stack?: string } = {}
  Error.captureStackTrace(holder, creationStack)
  const frames = (holder.stack ?? '').split('\n').slice(1)
  return ['created', ...frames.filter((frame) => !frame.includes(packageFolder))].join('\n')
}
