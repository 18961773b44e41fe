/** Errors: one class, a stable `code`, a sentence with the numbers on both sides and what to do. */

/** Every code octavo throws. Match on these, not on `instanceof`; docs/errors.md explains each. */
export const errorCodes = [
  'OCTAVO_INVALID_ARGUMENT',
  'OCTAVO_UNKNOWN_OPTION',
  'OCTAVO_CHECKPOINT_INVALID',
  'OCTAVO_CHECKPOINT_MISMATCH',
  'OCTAVO_UNSUPPORTED_MODEL',
  'OCTAVO_TOKENIZER_INVALID',
  'OCTAVO_NO_TOKENIZER',
  'OCTAVO_NO_CHAT_TEMPLATE',
  'OCTAVO_TEMPLATE_FAILED',
  'OCTAVO_NO_CUDA_BUILD',
  'OCTAVO_NO_DRIVER',
  'OCTAVO_NO_DEVICE',
  'OCTAVO_KERNELS_UNAVAILABLE',
  'OCTAVO_OUT_OF_MEMORY',
  'OCTAVO_CONTEXT_EXCEEDED',
  'OCTAVO_REQUEST_TOO_LARGE',
  'OCTAVO_SESSION_BUSY',
  'OCTAVO_QUOTA_EXCEEDED',
  'OCTAVO_TIMED_OUT',
  'OCTAVO_LEASE_EXPIRED',
  'OCTAVO_DISPOSED',
  'OCTAVO_CANCELLED',
  'OCTAVO_IO_FAILED',
  'OCTAVO_DEVICE_FAILED',
  'OCTAVO_NATIVE_MISSING',
  'OCTAVO_BUILD_FAILED',
  'OCTAVO_INTERNAL',
] as const

export type ErrorCode = (typeof errorCodes)[number]

const brand = Symbol.for('octavo.error')

/**
 * Everything octavo refuses or fails at. Recognised across two copies of the package.
 *
 * @example
 * ```ts
 * import { Engine, OctavoError } from 'octavo'
 * try {
 *   await Engine.load('/no/such/folder')
 * } catch (error) {
 *   if (error instanceof OctavoError && error.code === 'OCTAVO_IO_FAILED') console.log('missing folder')
 * }
 * ```
 */
export class OctavoError extends Error {
  override readonly name = 'OctavoError'
  readonly code: ErrorCode

  constructor(code: ErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.code = code
    Object.defineProperty(this, brand, { value: true })
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === 'object' && value !== null && brand in value
  }
}

/** An OctavoError for whatever the addon threw; anything without one of our codes is OCTAVO_INTERNAL. */
export function fromNative(error: unknown): OctavoError {
  if (error instanceof OctavoError) return error
  const { code, message } = error as { code?: string; message?: string }
  const known = errorCodes.find((name) => name === code)
  return new OctavoError(known ?? 'OCTAVO_INTERNAL', message ?? String(error), { cause: error })
}
