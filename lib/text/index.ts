/** Text in and out of a model folder. */

import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { OctavoError } from '../errors.js'
import { JinjaChatTemplate } from './chat-template.js'
import { naming, readJsonObject } from './files.js'
import type { JsonObject } from './json.js'
import { readSpecialTokens, type SpecialTokens } from './special-tokens.js'
import { readTemplates } from './template-source.js'
import { BpeTokenizer } from './tokenizer.js'
import type { ChatTemplate, TextModel } from './types.js'

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
 * something octavo does not read, OCTAVO_IO_FAILED when the folder or a file cannot be read. A chat template
 * that does not parse is no failure: `template.problem` says what is wrong with it.
 */
export async function loadText(folder: string): Promise<TextModel | null> {
  await requireFolder(folder)
  const path = join(folder, 'tokenizer.json')
  const json = await readJsonObject(path)
  if (json === null) return null
  const { config, special } = await readConfig(folder)
  const tokenizer = naming(path, () => new BpeTokenizer(json, special))
  return { tokenizer, template: await templateOf(folder, config, special) }
}

/** The chat template of `loadText` alone, without the work of making a tokenizer. */
export async function loadChatTemplate(folder: string): Promise<ChatTemplate | null> {
  await requireFolder(folder)
  const { config, special } = await readConfig(folder)
  return templateOf(folder, config, special)
}

async function readConfig(folder: string): Promise<{ config: JsonObject; special: SpecialTokens }> {
  const config = (await readJsonObject(join(folder, 'tokenizer_config.json'))) ?? {}
  const map = (await readJsonObject(join(folder, 'special_tokens_map.json'))) ?? {}
  return { config, special: readSpecialTokens(config, map) }
}

async function templateOf(
  folder: string,
  config: JsonObject,
  special: SpecialTokens,
): Promise<ChatTemplate | null> {
  const sources = await readTemplates(folder, config)
  return sources.size > 0 ? new JinjaChatTemplate(sources, special.byName) : null
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
