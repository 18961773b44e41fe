/** Which layers see all tokens and which a sliding window. */
import { largestContext } from '../checkpoint/config.js'
import type { Fields } from '../checkpoint/fields.js'
import { shorten } from '../checkpoint/fields.js'

export interface LayerWindow {
  /** transformers' name: `full_attention` or `sliding_attention`. */
  type: string
  /** Tokens a query sees, itself among them; 0 for all. */
  window: number
}

const full: LayerWindow = { type: 'full_attention', window: 0 }

/** Every layer sees everything. */
export function fullWindows(layers: number): LayerWindow[] {
  return Array.from({ length: layers }, () => full)
}

/** Every layer slides where `sliding_window` is not null; transformers' default without the key is 4096. */
export function mistralWindows(fields: Fields, layers: number): LayerWindow[] {
  const stated = fields.optionalInteger('sliding_window', { max: largestContext })
  const window = stated ?? (Object.hasOwn(fields.values, 'sliding_window') ? null : 4096)
  if (window === null) return fullWindows(layers)
  return Array.from({ length: layers }, () => ({ type: 'sliding_attention', window }))
}

/**
 * `layer_types` decides where it is given; else, with `use_sliding_window`, layers from `max_window_layers`
 * on slide. Throws OCTAVO_CHECKPOINT_INVALID, OCTAVO_UNSUPPORTED_MODEL (other layer types).
 */
export function qwenWindows(fields: Fields, layers: number): LayerWindow[] {
  const slides = fields.optionalBoolean('use_sliding_window') ?? false
  const window = fields.optionalInteger('sliding_window', { max: largestContext }) ?? 4096
  const firstSliding = fields.optionalInteger('max_window_layers', { min: 0 }) ?? 28
  const sliding: LayerWindow = { type: 'sliding_attention', window }
  const types = fields.optionalStrings('layer_types')
  if (types === null) {
    return Array.from({ length: layers }, (_, n) => (slides && n >= firstSliding ? sliding : full))
  }
  if (types.length !== layers) {
    throw fields.refusal('layer_types', `a list of ${layers} entries (it has ${types.length})`)
  }
  return types.map((type) => {
    if (type === full.type) return full
    if (type !== sliding.type) {
      const known = `octavo runs ${full.type} and ${sliding.type}`
      throw fields.unsupported('layer_types', `has "${shorten(type)}"; ${known}`)
    }
    if (slides) return sliding
    throw fields.refusal('layer_types', 'without sliding layers while use_sliding_window is false')
  })
}
