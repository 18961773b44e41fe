/** The special tokens that a folder names: `bos_token`, `eos_token` and their like. */

import type { JsonObject } from './json.js'

const names = [
  'bos_token',
  'eos_token',
  'unk_token',
  'pad_token',
  'sep_token',
  'cls_token',
  'mask_token',
]

export interface SpecialTokens {
  /** by name, as chat templates read them: `bos_token` → "<s>" */
  byName: Record<string, string>
  /** every content named, `additional_special_tokens` included */
  contents: string[]
}

/** tokenizer_config.json decides; special_tokens_map.json fills what it leaves out. */
export function readSpecialTokens(config: JsonObject, map: JsonObject): SpecialTokens {
  const byName: Record<string, string> = {}
  for (const name of names) {
    const content = contentOf(config[name]) ?? contentOf(map[name])
    if (content !== null) byName[name] = content
  }
  const contents = Object.values(byName)
  for (const source of [config, map]) {
    const { additional_special_tokens: list, extra_special_tokens: extra } = source
    for (const value of [...values(list), ...values(extra)]) {
      const content = contentOf(value)
      if (content !== null) contents.push(content)
    }
    // transformers 5 lets a processor name its own: { "image_token": "<image>" }
    if (!isRecord(extra)) continue
    for (const [name, value] of Object.entries(extra)) byName[name] ??= contentOf(value) ?? ''
  }
  return { byName, contents: [...new Set(contents)] }
}

function isRecord(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function values(list: unknown): unknown[] {
  if (Array.isArray(list)) return list
  return isRecord(list) ? Object.values(list) : []
}

/** A token is a string or an object with `content`; null where it is neither. */
function contentOf(value: unknown): string | null {
  const content = isRecord(value) ? value.content : value
  return typeof content === 'string' && content !== '' ? content : null
}
