/** What Python's `str` and `repr` make of a value of the Jinja library. */

/** A value inside the library: its kind; lists and mappings hold such values. */
export interface RuntimeValue {
  type: string
  value: unknown
}

/** As `{{ value }}` prints it: `True`, `None`, `['a', 1.0]`; nothing for an undefined value. */
export function pythonText(value: RuntimeValue | undefined): string {
  if (value === undefined || value.type === 'UndefinedValue') return ''
  return typeof value.value === 'string' ? value.value : pythonLiteral(value)
}

function pythonLiteral(item: RuntimeValue): string {
  const { type, value } = item
  if (typeof value === 'string') return quote(value)
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (type === 'NullValue') return 'None'
  if (Array.isArray(value)) return listLiteral(type, value as RuntimeValue[])
  if (value instanceof Map) {
    const entries = [...(value as Map<string, RuntimeValue>)]
    const pairs = entries.map(([key, member]) => `${quote(key)}: ${pythonLiteral(member)}`)
    return `{${pairs.join(', ')}}`
  }
  // The library prints numbers as Python does: a float keeps its point.
  return value === undefined ? 'Undefined' : String(item)
}

function listLiteral(type: string, members: RuntimeValue[]): string {
  const text = members.map(pythonLiteral).join(', ')
  if (type !== 'TupleValue') return `[${text}]`
  return members.length === 1 ? `(${text},)` : `(${text})`
}

const escapes: Record<string, string> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' }

/** In single quotes, unless only those are inside. */
function quote(text: string): string {
  const mark = text.includes("'") && !text.includes('"') ? '"' : "'"
  const escaped = text.replace(/[\\\n\r\t]|\p{Cc}/gu, (character) => {
    const code = character.charCodeAt(0).toString(16).padStart(2, '0')
    return escapes[character] ?? `\\x${code}`
  })
  return mark + (mark === "'" ? escaped.replaceAll("'", "\\'") : escaped) + mark
}
