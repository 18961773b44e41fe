/** Which file of a folder its weights begin with, and what to say where octavo reads none of them. */
import { OctavoError } from '../errors.js'
import { shardIndexName } from './shard-index.js'

/**
 * `model.safetensors`, else the index, else the only *.safetensors there is (as transformers looks).
 * Throws OCTAVO_UNSUPPORTED_MODEL where there are other formats only, OCTAVO_IO_FAILED where there is
 * nothing, OCTAVO_CHECKPOINT_INVALID where several files have no index.
 */
export function weightFileOf(folder: string, names: readonly string[]): string {
  const standard = ['model.safetensors', shardIndexName].find((name) => names.includes(name))
  if (standard !== undefined) return standard
  const found = names.filter((name) => name.endsWith('.safetensors'))
  const weights = found.filter((name) => !name.startsWith('adapter_'))
  if (weights.length === 1) return weights[0]!
  if (weights.length > 1) {
    const problem = `${folder} has ${weights.length} *.safetensors files but no ${shardIndexName}`
    const cure = 'to say which tensors are where; download it beside them'
    throw new OctavoError('OCTAVO_CHECKPOINT_INVALID', `${problem} ${cure}`)
  }
  if (found.length > 0) {
    const problem = `${folder} holds an adapter (${found[0]}), not a model`
    throw new OctavoError(
      'OCTAVO_UNSUPPORTED_MODEL',
      `${problem}; give the folder of its base model`,
    )
  }
  throw otherFormat(folder, names)
}

function otherFormat(folder: string, names: readonly string[]): OctavoError {
  const gguf = names.find((name) => name.endsWith('.gguf'))
  if (gguf !== undefined) {
    const cure = 'give the Hugging Face folder of the model, with config.json and *.safetensors'
    const problem = `${folder} holds ${gguf}; octavo reads safetensors, not GGUF: ${cure}`
    return new OctavoError('OCTAVO_UNSUPPORTED_MODEL', problem)
  }
  const pickle = names.find((name) => /\.(bin|pt|pth|ckpt|h5|msgpack)$/.test(name))
  if (pickle !== undefined) {
    const cure =
      'load it in transformers and call save_pretrained(folder): it writes model.safetensors'
    const problem = `${folder} holds ${pickle} but no *.safetensors, the only weights octavo reads`
    return new OctavoError('OCTAVO_UNSUPPORTED_MODEL', `${problem}; ${cure}`)
  }
  const problem = `${folder} has no model.safetensors and no ${shardIndexName}`
  return new OctavoError('OCTAVO_IO_FAILED', `${problem}; is it the folder of a model?`)
}
