/** JSON.parse keeps the last of two equal keys in silence; a safetensors header may not have any. */

const quoteMark = 0x22
const backslash = 0x5c
const colon = 0x3a
const openBrace = 0x7b
const closeBrace = 0x7d

/**
 * Names a key that a valid JSON text of an object of objects has twice (at those two levels), or null.
 * `parsed` is the same text parsed: equal counts of keys mean that none was lost.
 */
export function repeatedKey(
  text: string,
  parsed: Readonly<Record<string, unknown>>,
): string | null {
  const written = [0, 0, 0]
  scanKeys(text, (depth) => {
    if (depth <= 2) written[depth]!++
  })
  const entries = Object.values(parsed)
  const kept = entries.reduce<number>((sum, entry) => sum + keysOf(entry), 0)
  if (written[1] === entries.length && written[2] === kept) return null
  return firstRepeated(text)
}

function keysOf(entry: unknown): number {
  return typeof entry === 'object' && entry !== null && !Array.isArray(entry)
    ? Object.keys(entry).length
    : 0
}

function firstRepeated(text: string): string | null {
  const seen = [new Set<string>(), new Set<string>(), new Set<string>()]
  let tensor = ''
  let found: string | null = null
  scanKeys(text, (depth, begin, end) => {
    if (depth > 2 || found !== null) return
    const key = JSON.parse(text.slice(begin, end)) as string
    if (depth === 1) {
      tensor = key
      seen[2]!.clear()
    }
    if (seen[depth]!.has(key))
      found = depth === 1 ? `tensor "${key}"` : `"${key}" of tensor "${tensor}"`
    seen[depth]!.add(key)
  })
  return found
}

/** Calls back with the depth in braces and the range of the quoted key, for every key of valid JSON. */
function scanKeys(text: string, visit: (depth: number, begin: number, end: number) => void): void {
  let depth = 0
  let begin = 0
  let end = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === quoteMark) {
      begin = i++
      while (text.charCodeAt(i) !== quoteMark) i += text.charCodeAt(i) === backslash ? 2 : 1
      end = i + 1
    } else if (code === colon) visit(depth, begin, end)
    else if (code === openBrace) depth++
    else if (code === closeBrace) depth--
  }
}
