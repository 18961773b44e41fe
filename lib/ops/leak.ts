/** Handles that were garbage-collected without being disposed: released all the same, and named. */

import { sep } from 'node:path'

interface Leak {
  kind: string
  release: () => void
  /** Where the handle was created. */
  stack: string
}

const registry = new FinalizationRegistry<Leak>(({ kind, release, stack }) => {
  release()
  process.emitWarning(
    `a ${kind} was garbage-collected without dispose(); its memory was released`,
    {
      code: 'OCTAVO_NOT_DISPOSED',
      detail: `created ${stack}`,
    },
  )
})

/**
 * Watches `handle` until `unwatch`. `release` must not refer to `handle`, or it is never collected; it
 * must be safe to call whatever else was released before.
 */
export function watch(handle: object, kind: string, release: () => void): void {
  registry.register(handle, { kind, release, stack: callerStack() }, handle)
}

export function unwatch(handle: object): void {
  registry.unregister(handle)
}

/** Where the SDK was called from: the frames outside this folder. */
function callerStack(): string {
  const [, ...frames] = (new Error().stack ?? '').split('\n')
  return frames
    .filter((frame) => !frame.includes(__dirname + sep))
    .join('\n')
    .trim()
}
