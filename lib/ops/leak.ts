/** Handles that were garbage-collected without being disposed: released all the same, and named. */

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
  const trace: { stack?: string } = {}
  Error.captureStackTrace(trace, watch)
  const stack = (trace.stack ?? '').replace(/^.*\n\s*/, '')
  registry.register(handle, { kind, release, stack }, handle)
}

export function unwatch(handle: object): void {
  registry.unregister(handle)
}
