/** The addon's `ops`, with its errors turned into ours. */
import { fromNative } from '../errors.js'
import { loadNative } from '../native.js'
import type { NativeOps } from './native.js'

/** Loads the addon on the first call. Throws OCTAVO_NATIVE_MISSING and whatever `body` meets. */
export function callOps<T>(body: (ops: NativeOps) => T): T {
  try {
    return body(loadNative().ops)
  } catch (error) {
    throw fromNative(error)
  }
}
