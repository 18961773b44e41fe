/** What must be so before a run begins. */
import type { Engine } from '../engine.js'
import { OctavoError } from '../errors.js'
import type { RequestFigures } from './request-figures.js'

/** Throws OCTAVO_CONTEXT_EXCEEDED with both numbers. */
export function requireContext({ model }: Engine, input: number, output: number): void {
  const { contextLength } = model
  if (input + output <= contextLength) return
  const asked = `${input} tokens in and ${output} out make ${input + output}`
  const problem = `${asked}; the model's context is ${contextLength}: ask for less`
  throw new OctavoError('OCTAVO_CONTEXT_EXCEEDED', problem)
}

/** Where every request must succeed, one that was refused ends the run. */
export function refuseFailure({ code, inputTokens }: RequestFigures): void {
  if (code === null) return
  const cure = 'see its code in docs/errors.md, and give the engine more memory or fewer requests'
  throw new OctavoError(code, `a request of ${inputTokens} tokens was refused; ${cure}`)
}
