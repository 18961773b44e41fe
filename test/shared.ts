/** Test data that lies beside the repository and is not part of it. */

import { existsSync } from 'node:fs'
import { join } from 'node:path'

const root = process.env.OCTAVO_SHARED ?? join(__dirname, '..', '..', 'shared')

/** A path below the shared data; null where it is absent: tests that need it skip and say so. */
export function sharedPath(...parts: string[]): string | null {
  const path = join(root, ...parts)
  return existsSync(path) ? path : null
}
