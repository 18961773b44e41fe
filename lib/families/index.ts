/** The model families octavo runs. */
import type { ModelConfig } from '../checkpoint/config.js'
import { shorten } from '../checkpoint/fields.js'
import { OctavoError } from '../errors.js'
import type { Family } from './family.js'
import { llama } from './llama.js'
import { mistral } from './mistral.js'
import { qwen2, qwen3 } from './qwen.js'

export const families: readonly Family[] = [llama, mistral, qwen2, qwen3]

/**
 * The family of a config: by architecture, else by model type; of a multimodal wrapper, by its text config.
 * Throws OCTAVO_UNSUPPORTED_MODEL listing what is supported.
 */
export function familyOf(config: ModelConfig): Family {
  const { architecture, modelType, textArchitecture, textModelType } = config
  const found =
    byArchitecture(architecture) ??
    (architecture === null ? byModelType(modelType) : undefined) ??
    byArchitecture(textArchitecture) ??
    byModelType(textModelType)
  if (found) return found
  const given = architecture ?? modelType
  const named = given === null ? 'names no architecture' : `is of "${shorten(given)}"`
  const supported = families.flatMap((family) => family.architectures).join(', ')
  const problem = `${config.root.file}: the model ${named}, which octavo does not run; it runs ${supported}`
  throw new OctavoError('OCTAVO_UNSUPPORTED_MODEL', problem)
}

function byArchitecture(name: string | null): Family | undefined {
  return families.find((family) => name !== null && family.architectures.includes(name))
}

function byModelType(name: string | null): Family | undefined {
  return families.find((family) => name !== null && family.modelTypes.includes(name))
}
