/** Text in and out of a model folder. */

import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { OctavoError } from '../errors.js'
import { JinjaChatTemplate } from './chat-template.js'
import { naming, readJsonObject } from './files.js'
import { readSpecialTokens } from './special-tokens.js'
import { readTemplates } from './template-source.js'
import { BpeTokenizer } from './tokenizer.js'
import type { TextModel } from './types.js'

export type {
  ChatMessage,
  ChatTemplate,
  ChatTemplateOptions,
  Detokenizer,
  TextModel,
  Tokenizer,
} from './types.js'

/**
 * The tokenizer and the chat template of a folder in Hugging Face's layout: tokenizer.json,
 * tokenizer_config.json, special_tokens_map.json and the places where templates lie.
 *
 * null when the folder has no tokenizer.json: the model then takes token ids only.
 *
 * Throws OCTAVO_TOKENIZER_INVALID for files that are broken, contradict each other or ask for
 * something octavo does not read, OCTAVO_TEMPLATE_FAILED for a chat template that does not parse, OCTAVO_IO_FAILED when the folder or a file cannot be read.
 */
export async function loadText(folder: string): Promise<TextModel | null> {
  await requireFolder(folder)
  const path = join(folder, 'tokenizer.json')
  const json = await readJsonObject(path)
  if (json === null) return null
  const configPath = join(folder, 'tokenizer_config.json')
  const config = (await readJsonObject(configPath)) ?? {}
  const map = (await readJsonObject(join(folder, 'special_tokens_map.json'))) ?? {}
  const special = readSpecialTokens(config, map)
  const tokenizer = naming(path, () => new BpeTokenizer(json, special))
  const sources = await readTemplates(folder, config)
  const template = sources.size > 0 ? new JinjaChatTemplate(sources, special.byName) : null
  return { tokenizer, template }
}

async function requireFolder(folder: string): Promise<void> {
  try {
    if ((await stat(folder)).isDirectory()) return
  } catch (error) {
    const reason = (error as Error).message
    throw new OctavoError('OCTAVO_IO_FAILED', `cannot open ${folder}: ${reason}`, { cause: error })
  }
  throw new OctavoError('OCTAVO_IO_FAILED', `${folder} is a file; a model is a folder`)
}
