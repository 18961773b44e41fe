import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')

export const collectGarbage = runInNewContext('gc') as () => void

/** Collects, and lets finalizers run, until `reached`: for as long as the test may take. */
export async function collectUntil(reached: () => boolean): Promise<void> {
  while (!reached()) {
    collectGarbage()
    await sleep(5)
  }
}
