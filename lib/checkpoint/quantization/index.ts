/** `quantization_config`: read and checked whole, before any tensor is looked at. */
import { join } from 'node:path'
import type { ModelConfig } from '../config.js'
import { shorten, type Fields } from '../fields.js'
import { readJson } from '../json.js'
import { awqOf } from './awq.js'
import { compressedTensorsOf } from './compressed-tensors.js'
import { fp8Of } from './fp8.js'
import { gptqOf } from './gptq.js'
import type { Quantization } from './scheme.js'

const methods: ReadonlyMap<string, (config: Fields) => Quantization> = new Map([
  ['awq', awqOf],
  ['gptq', gptqOf],
  ['compressed-tensors', compressedTensorsOf],
  ['fp8', fp8Of],
])

/** Files of before config.json said it, and the method they mean. */
const legacyFiles: ReadonlyMap<string, string> = new Map([
  ['quantize_config.json', 'gptq'],
  ['quant_config.json', 'awq'],
])

/**
 * What config.json says, or a legacy file beside it where it says nothing; null: the weights are plain. `files` are the
 * names in `folder`. Throws OCTAVO_UNSUPPORTED_MODEL for a method, bits or groups that octavo does not run,
 * OCTAVO_CHECKPOINT_INVALID for what cannot be meant, each naming file and key; OCTAVO_IO_FAILED, OCTAVO_CANCELLED.
 */
export async function readQuantization(
  folder: string,
  files: readonly string[],
  config: ModelConfig,
  signal?: AbortSignal,
): Promise<Quantization | null> {
  const stated = quantizationOf(config)
  if (stated !== null) return stated
  for (const [file, method] of legacyFiles) {
    if (files.includes(file)) return parse(await readJson(join(folder, file), signal), method)
  }
  return null
}

/** Of config.json alone: of the language model, else of the whole. */
export function quantizationOf({ fields, root }: ModelConfig): Quantization | null {
  for (const part of [fields, root]) {
    const key = part.firstOf('quantization_config', 'compression_config')
    const config = key === null ? null : part.optionalObject(key)
    if (config !== null) return parse(config, null)
  }
  return null
}

function parse(config: Fields, fallback: string | null): Quantization {
  const key = config.firstOf('quant_method', 'method')
  const method = (key && config.optionalString(key)) ?? fallback
  const known = [...methods.keys()].join(', ')
  if (method === null) {
    throw config.refusal('quant_method', `the method of quantisation; octavo runs ${known}`)
  }
  const parseMethod = methods.get(method.toLowerCase())
  if (parseMethod !== undefined) return parseMethod(config)
  const problem = `is "${shorten(method)}"; octavo runs weights of ${known}, and plain ones`
  throw config.unsupported(key ?? 'quant_method', problem)
}
