/** What `toThrow` and `rejects` compare an OctavoError with: its code, and a part of its sentence. */
import type { ErrorCode } from '../lib/errors.js'

export function refusal(code: ErrorCode, sentence = ''): Error {
  return expect.objectContaining({
    code,
    message: expect.stringContaining(sentence) as string,
  }) as Error
}
