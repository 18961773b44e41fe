/** The nearest known name to a misspelled one. */

/** Edits (insert, delete, replace, swap neighbours) from `a` to `b`: optimal string alignment. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const replace = last[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      let best = Math.min(replace, last[j]! + 1, row[j - 1]! + 1)
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      if (swapped) best = Math.min(best, beforeLast[j - 2]! + 1)
      row.push(best)
    }
    beforeLast = last
    last = row
  }
  return last[b.length]!
}

/** Case, dashes and underscores are how one name is written in several languages: `max_new_tokens`. */
const plain = (name: string): string => name.toLowerCase().replace(/[-_]/g, '')

/** The known name that `name` most likely meant, or null when none is near. */
export function suggest(name: string, known: readonly string[]): string | null {
  const begun = known.filter((candidate) => plain(candidate).startsWith(plain(name)))
  if (plain(name).length >= 3 && begun.length === 1) return begun[0]!
  let best: string | null = null
  let bestDistance = Math.floor(plain(name).length / 3) + 1
  for (const candidate of known) {
    const distance = editDistance(plain(name), plain(candidate))
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance]
  }
  return best
}
