/** Where a JSON text breaks off: V8's messages name a position for some errors only. */

const scalar = /^(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)$/
const escape = /^\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4})/

type Awaited = 'value' | 'valueOrEnd' | 'key' | 'keyOrEnd' | 'colon' | 'commaOrEnd' | 'nothing'

/** Offset of the first character that JSON (RFC 8259) does not allow; the text's length where it ends early. */
export function syntaxErrorOffset(text: string): number {
  const open: string[] = []
  let awaited: Awaited = 'value'
  let offset = skipSpace(text, 0)
  while (offset < text.length) {
    const end = tokenEnd(text, offset)
    const next: Awaited | null = end === null ? null : after(text[offset]!, awaited, open)
    if (end === null || next === null) return offset
    awaited = next
    offset = skipSpace(text, end)
  }
  return text.length
}

/** Past the token at `offset`, or null where there is none. By hand: expressions run out of stack on long strings. */
function tokenEnd(text: string, offset: number): number | null {
  const first = text[offset]!
  if (first === '"') return stringEnd(text, offset)
  if ('{}[]:,'.includes(first)) return offset + 1
  let end = offset
  while (end < text.length && /[-+.\w]/.test(text[end]!)) end++
  return end - offset < 1000 && scalar.test(text.slice(offset, end)) ? end : null
}

function stringEnd(text: string, begin: number): number | null {
  let offset = begin + 1
  while (offset < text.length && text[offset] !== '"') {
    if (text[offset]! < ' ') return null
    const escaped = text[offset] === '\\'
    const length = escaped ? escape.exec(text.slice(offset, offset + 6))?.[0].length : 1
    if (length === undefined) return null
    offset += length
  }
  return offset < text.length ? offset + 1 : null
}

/** What may follow a token that begins with `mark`, or null where it may not stand. Keeps `open` brackets. */
function after(mark: string, awaited: Awaited, open: string[]): Awaited | null {
  const value = awaited === 'value' || awaited === 'valueOrEnd'
  const key = awaited === 'key' || awaited === 'keyOrEnd'
  const inside = open.at(-1)
  switch (mark) {
    case '{':
    case '[':
      if (!value) return null
      open.push(mark)
      return mark === '{' ? 'keyOrEnd' : 'valueOrEnd'
    case '}':
    case ']': {
      const empty = mark === '}' ? awaited === 'keyOrEnd' : awaited === 'valueOrEnd'
      const matches = inside === (mark === '}' ? '{' : '[')
      if (!matches || !(empty || awaited === 'commaOrEnd')) return null
      open.pop()
      break
    }
    case ',':
      if (awaited !== 'commaOrEnd') return null
      return inside === '{' ? 'key' : 'value'
    case ':':
      return awaited === 'colon' ? 'value' : null
    default:
      if (key && mark === '"') return 'colon'
      if (!value) return null
  }
  return open.length > 0 ? 'commaOrEnd' : 'nothing'
}

function skipSpace(text: string, from: number): number {
  let offset = from
  while (offset < text.length && '\t\n\r '.includes(text[offset]!)) offset++
  return offset
}
