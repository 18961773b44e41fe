import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')

export const collectGarbage = runInNewContext('gc') as () => void

const patience = 300_000 // milliseconds, against waiting for ever alone

/** Collects, and lets finalizers run, until `reached`. */
export async function collectUntil(reached: () => boolean): Promise<void> {
  const end = Date.now() + patience
  while (!reached()) {
    if (Date.now() > end) throw new Error(`no collection of ${patience} ms has reached it`)
    collectGarbage()
    await sleep(5)
  }
}
