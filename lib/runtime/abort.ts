/** Watching an AbortSignal with one listener, however many wait for it: Node warns from the eleventh on. */

interface Watch {
  callbacks: Set<() => void>
  listener: () => void
}

const watches = new WeakMap<AbortSignal, Watch>()

function startWatch(signal: AbortSignal): Watch {
  const callbacks = new Set<() => void>()
  const listener = (): void => {
    for (const callback of callbacks) callback()
  }
  const watch = { callbacks, listener }
  watches.set(signal, watch)
  signal.addEventListener('abort', listener, { once: true })
  return watch
}

/** Calls `callback` at the abort, unless the returned function ran before. An aborted signal is not told of. */
export function onAbort(signal: AbortSignal | undefined, callback: () => void): () => void {
  if (signal === undefined) return () => {}
  const { callbacks, listener } = watches.get(signal) ?? startWatch(signal)
  callbacks.add(callback)
  return () => {
    callbacks.delete(callback)
    if (callbacks.size > 0 || watches.get(signal)?.callbacks !== callbacks) return
    watches.delete(signal)
    signal.removeEventListener('abort', listener)
  }
}
