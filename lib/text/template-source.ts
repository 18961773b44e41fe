/** Where a folder keeps its chat template. */

import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { OctavoError } from '../errors.js'
import { naming, readJsonObject, readText } from './files.js'
import { arrayAt, objectAt, stringAt, type JsonObject } from './json.js'

/** Templates by name; a folder with one template calls it "default". */
export type TemplateSources = ReadonlyMap<string, string>

const extras = 'additional_chat_templates'

/**
 * In the order of transformers: `chat_template.jinja` with its named extras, `chat_template` of
 * tokenizer_config.json, `chat_template.json`. Empty when there is none.
 */
export async function readTemplates(folder: string, config: JsonObject): Promise<TemplateSources> {
  const templates = await readTemplateFiles(folder)
  if (templates.size > 0) return templates
  const configured = parseAt(join(folder, 'tokenizer_config.json'), config.chat_template)
  if (configured.size > 0) return configured
  const path = join(folder, 'chat_template.json')
  return parseAt(path, (await readJsonObject(path))?.chat_template)
}

const parseAt = (path: string, value: unknown): Map<string, string> =>
  naming(path, () => parseTemplates(value))

async function readTemplateFiles(folder: string): Promise<Map<string, string>> {
  const templates = new Map<string, string>()
  const main = await readText(join(folder, 'chat_template.jinja'))
  if (main !== null) templates.set('default', main)
  for (const file of await listExtras(join(folder, extras))) {
    const source = await readText(join(folder, extras, file))
    if (source !== null) templates.set(file.slice(0, -'.jinja'.length), source)
  }
  return templates
}

async function listExtras(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).filter((file) => file.endsWith('.jinja')).sort()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    const reason = (error as Error).message
    throw new OctavoError('OCTAVO_IO_FAILED', `cannot list ${folder}: ${reason}`, { cause: error })
  }
}

/** A template, or a list of `{ name, template }`. */
function parseTemplates(value: unknown): Map<string, string> {
  if (value === undefined || value === null) return new Map()
  if (typeof value === 'string') return new Map([['default', value]])
  const entries = arrayAt(value, 'chat_template').map((entry, at): [string, string] => {
    const key = `chat_template[${at}]`
    const { name, template } = objectAt(entry, key)
    return [stringAt(name, `${key}.name`), stringAt(template, `${key}.template`)]
  })
  return new Map(entries)
}
