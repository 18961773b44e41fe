/** Where a folder keeps its chat template. */

import { readdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { absent, naming, readJsonObject, readText } from './files.js'
import { objectAt, stringAt, wrong, type JsonObject } from './json.js'

/** Templates by name; a folder with one template calls it "default". */
export type TemplateSources = ReadonlyMap<string, TemplateSource>

export interface TemplateSource {
  /** The path of the file that holds it. */
  file: string
  text: string
}

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

function parseAt(file: string, value: unknown): TemplateSources {
  const templates = naming(file, () => parseTemplates(value))
  return new Map(templates.map(([name, text]) => [name, { file, text }]))
}

async function readTemplateFiles(folder: string): Promise<TemplateSources> {
  const templates = new Map<string, TemplateSource>()
  const main = join(folder, 'chat_template.jinja')
  const others = (await listExtras(join(folder, extras))).map((name) => join(folder, extras, name))
  for (const file of [main, ...others]) {
    const text = await readText(file)
    const name = file === main ? 'default' : basename(file, '.jinja')
    if (text !== null) templates.set(name, { file, text })
  }
  return templates
}

async function listExtras(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).filter((file) => file.endsWith('.jinja')).sort()
  } catch (error) {
    return (await absent(folder, error)) ?? []
  }
}

/** A template, or a list of `{ name, template }`. */
function parseTemplates(value: unknown): [name: string, text: string][] {
  if (value === undefined || value === null) return []
  if (typeof value === 'string') return [['default', value]]
  if (!Array.isArray(value)) {
    throw wrong('chat_template', value, 'a string or a list of named templates')
  }
  return value.map((entry, at): [string, string] => {
    const key = `chat_template[${at}]`
    const { name, template } = objectAt(entry, key)
    return [stringAt(name, `${key}.name`), stringAt(template, `${key}.template`)]
  })
}
