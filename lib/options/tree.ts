/** Values of a caller that others walk by calling themselves: lists and mappings that end. */
import { OctavoError } from '../errors.js'
import { isArray, reading } from './reader.js'

/** No conversation nests so deep; what walks it has a stack to run out of. */
const deepest = 500

const isParent = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !ArrayBuffer.isView(value)

function refuse(path: string, problem: string): never {
  throw new OctavoError(
    'OCTAVO_INVALID_ARGUMENT',
    `${path} ${problem}; pass lists and objects that end`,
  )
}

/**
 * Throws OCTAVO_INVALID_ARGUMENT, naming the place, where a value holds itself or nests too deep. Each object is looked
 * into once, however often it is held. O(values).
 */
export function requireTree(name: string, value: unknown): void {
  const open = new Map<object, string>()
  const done = new WeakSet()
  const visit = (path: string, parent: object): void => {
    const above = open.get(parent)
    if (above !== undefined) refuse(path, `is ${above} again, which holds it`)
    if (done.has(parent)) return
    if (open.size >= deepest) refuse(name, `nests more than ${deepest} levels deep`)
    open.set(parent, path)
    const list = isArray(parent)
    for (const [key, child] of reading(path, () => Object.entries(parent) as [string, unknown][])) {
      if (isParent(child)) visit(list ? `${path}[${key}]` : `${path}.${key}`, child)
    }
    open.delete(parent)
    done.add(parent)
  }
  if (isParent(value)) visit(name, value)
}
