/** A wrong command line: the only error that ends the command with status 2. */
import { OctavoError } from '../errors.js'

/** Thrown while the words of the command line are read, and by nothing else: what fails later is not their fault. */
export class UsageError extends OctavoError {
  readonly isUsage = true

  constructor(
    message: string,
    code: 'OCTAVO_INVALID_ARGUMENT' | 'OCTAVO_UNKNOWN_OPTION' = 'OCTAVO_INVALID_ARGUMENT',
  ) {
    super(code, message)
  }
}

/** `instanceof` would take any OctavoError: the class it inherits from answers by a brand. */
export const isUsageError = (error: unknown): boolean =>
  error instanceof OctavoError && 'isUsage' in error
