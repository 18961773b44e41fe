/** `quant_method: "compressed-tensors"`: groups of layers, each with a scheme of its own. */
import { shorten, type Fields } from '../fields.js'
import { compressedSchemeOf } from './compressed-scheme.js'
import { expressionOf, type ModuleMatch } from './module-rules.js'
import type { Quantization, QuantizationScheme } from './scheme.js'

/** A name of a layer, a regular expression behind "re:", or the class of all linear layers. */
type Target = ModuleMatch

interface Group {
  /** By how precisely they name a layer: names, expressions, classes. */
  targets: readonly [Target[], Target[], Target[]]
  scheme: QuantizationScheme
}

/** Throws OCTAVO_UNSUPPORTED_MODEL and OCTAVO_CHECKPOINT_INVALID naming the key. */
export function compressedTensorsOf(config: Fields): Quantization {
  requireCompressed(config)
  const format = config.optionalString('format')
  const groups = config.optionalObject('config_groups')
  const keys = Object.keys(groups?.values ?? {})
  if (groups === null || keys.length === 0) {
    throw config.refusal('config_groups', 'an object with at least one group')
  }
  const all = keys.map((key): Group => {
    const group = groups.optionalObject(key)
    if (group === null) throw groups.refusal(key, 'an object')
    return { targets: targetsOf(group, 'targets'), scheme: compressedSchemeOf(group, format) }
  })
  const left = targetsOf(config, 'ignore').flat()
  return {
    method: 'compressed-tensors',
    schemeOf(module) {
      if (left.some((matches) => matches(module))) return null
      for (const rank of [0, 1, 2] as const) {
        const found = all.find(({ targets }) => targets[rank].some((matches) => matches(module)))
        if (found !== undefined) return found.scheme
      }
      return null
    },
  }
}

/** What would change the numbers in ways octavo does not know. */
function requireCompressed(config: Fields): void {
  const status = config.optionalString('quantization_status') ?? 'compressed'
  if (status !== 'compressed') {
    const cure = 'save the model compressed'
    throw config.unsupported('quantization_status', `is "${shorten(status)}"; ${cure}`)
  }
  for (const key of ['sparsity_config', 'transform_config']) {
    const values = config.optionalObject(key)?.values ?? {}
    if (Object.keys(values).length === 0 || values['format'] === 'dense') continue
    throw config.unsupported(key, 'is not empty; octavo runs quantised weights without it')
  }
}

function targetsOf(fields: Fields, key: string): Group['targets'] {
  const exact: Target[] = []
  const expressions: Target[] = []
  const classes: Target[] = []
  for (const target of fields.optionalStrings(key) ?? []) {
    if (target.startsWith('re:')) {
      expressions.push(expressionOf(fields.file, key, target.slice(3)))
    } else if (target === 'Linear') {
      classes.push(() => true)
    } else {
      exact.push((module) => module === target)
    }
  }
  return [exact, expressions, classes]
}
