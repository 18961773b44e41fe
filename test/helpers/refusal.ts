/** What a call that must be refused was refused with. */
export function refusal(call: () => unknown): { code: string; message: string } {
  try {
    call()
  } catch (error) {
    const { code, message } = error as { code: string; message: string }
    return { code, message }
  }
  throw new Error('expected a refusal, but the call went through')
}
