/** Which layers a rule of a config means. */
import { OctavoError } from '../../errors.js'
import { shorten } from '../fields.js'

/** A Python regular expression that must match from the first character on, as `re.match` does. */
export function expressionOf(file: string, key: string, pattern: string): RegExp {
  try {
    return new RegExp(`^(?:${pattern})`)
  } catch (cause) {
    const problem = `${file}: "${key}" has ${shorten(JSON.stringify(pattern))}`
    const sentence = `${problem}, which is not a regular expression octavo can read`
    throw new OctavoError('OCTAVO_CHECKPOINT_INVALID', sentence, { cause })
  }
}

/**
 * Whether `name` is the layer, what contains it, or its last parts: "lm_head", "model.layers.0", "mlp.gate" (which
 * is not "mlp.gate_proj").
 */
export function names(name: string, module: string): boolean {
  return `.${module}.`.includes(`.${name.replace(/^\.|\.$/g, '')}.`)
}
