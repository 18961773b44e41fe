/** How deep JSON that others wrote may nest. */

/** No file of a model nests so deep; what walks a parsed file may then call itself. */
export const deepestJson = 100

/** Level by level, with no stack of its own to run out of. O(values). */
export function nestsTooDeep(json: unknown): boolean {
  let level = [json]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > deepestJson) return true
    const next: unknown[] = []
    for (const value of level) {
      if (typeof value !== 'object' || value === null) continue
      for (const child of Array.isArray(value) ? (value as unknown[]) : Object.values(value)) {
        if (typeof child === 'object' && child !== null) next.push(child)
      }
    }
    level = next
  }
  return false
}
