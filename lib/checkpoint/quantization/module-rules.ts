/** Which layers a rule of a config means. */
import { createContext, Script } from 'node:vm'
import { OctavoError } from '../../errors.js'
import { shorten } from '../fields.js'

/** Whether a rule means the layer of that name. */
export type ModuleMatch = (module: string) => boolean

const longestMatchMs = 1000
const context = createContext({ expression: /x/, text: '' })
const script = new Script('expression.test(text)')

/**
 * A Python regular expression that must match from the first character on, as `re.match` does. One that backtracks
 * without end is refused when it is used: nothing else stops it.
 */
export function expressionOf(file: string, key: string, pattern: string): ModuleMatch {
  const refuse = (problem: string, cause: unknown): never => {
    const sentence = `${file}: "${key}" has ${shorten(JSON.stringify(pattern))}, ${problem}`
    throw new OctavoError('OCTAVO_CHECKPOINT_INVALID', sentence, { cause })
  }
  let expression: RegExp
  try {
    expression = new RegExp(`^(?:${pattern})`)
  } catch (cause) {
    return refuse('which is not a regular expression octavo can read', cause)
  }
  return (module) => {
    Object.assign(context, { expression, text: module })
    try {
      return script.runInContext(context, { timeout: longestMatchMs }) as boolean
    } catch (cause) {
      return refuse(`which was not done with ${shorten(module)} in ${longestMatchMs} ms`, cause)
    }
  }
}

/**
 * Whether `name` is the layer, what contains it, or its last parts: "lm_head", "model.layers.0", "mlp.gate" (which
 * is not "mlp.gate_proj").
 */
export function names(name: string, module: string): boolean {
  return `.${module}.`.includes(`.${name.replace(/^\.|\.$/g, '')}.`)
}
