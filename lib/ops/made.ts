/** Classes whose objects come from a function of ours: `private` holds in TypeScript alone. */
import { OctavoError } from '../errors.js'

/** What such a function hands to the constructor; nobody else has it. */
export const made = Symbol('made')

/** Throws OCTAVO_INVALID_ARGUMENT where a caller wrote `new`. `how` is what to write instead. */
export function requireMade(key: unknown, what: string, how: string): void {
  if (key === made) return
  throw new OctavoError(
    'OCTAVO_INVALID_ARGUMENT',
    `new ${what}() makes nothing that works: use ${how}`,
  )
}
