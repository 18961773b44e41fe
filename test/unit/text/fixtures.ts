/** The tokenizers that the text tests are held to, and where they lie. */

import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ChatMessage } from '../../../lib/text/index.js'
import { sharedPath } from '../../shared'

const repository = join(__dirname, '..', '..', '..')

export const storiesFolder = join(repository, 'models', 'stories260k')

function cached(name: string): string | null {
  const folder = join(repository, '.cache', 'tokenizers', name)
  return existsSync(join(folder, 'tokenizer.json')) ? folder : null
}

export const folders: Record<string, string | null> = {
  smollm2: sharedPath('models', 'smollm2-135m'),
  'llama-3.1': cached('llama-3.1'),
  qwen3: cached('qwen3'),
  'deepseek-v3': cached('deepseek-v3'),
  'deepseek-v4': sharedPath('tokenizers', 'deepseek-v4'),
}

export interface Golden {
  strings: string[]
  chats: Record<string, GoldenChat>
  tokenizers: Record<string, GoldenTokenizer>
}

export interface GoldenChat {
  messages: ChatMessage[]
  tools?: unknown[]
  add_generation_prompt?: boolean
  [variable: string]: unknown
}

export interface GoldenTokenizer {
  vocabulary: number
  ids: number[][]
  helloWithSpecial: number[]
  notRoundTrip: Record<string, string>
  rendered?: Record<string, string>
}

export function readGolden(): Golden | null {
  const path = sharedPath('tokenizers', 'golden.json')
  return path === null ? null : (JSON.parse(readFileSync(path, 'utf8')) as Golden)
}

/** `describe` where the folder is there; otherwise a skipped suite that says what is missing. */
export function describeWith(
  name: string,
  folder: string | null,
  body: (folder: string) => void,
): void {
  if (folder !== null) {
    describe(name, () => body(folder))
    return
  }
  const reason = 'its files are absent: run scripts/tokenizers.cjs, or set OCTAVO_SHARED'
  process.stderr.write(`skipped: ${name} (${reason})\n`)
  describe.skip(`${name} (${reason})`, () => {
    test('skipped', () => undefined)
  })
}

type Json = Record<string, unknown>

/** A copy of the embedded model's tokenizer files with changes, deleted after `use`. */
export async function withFolder(
  files: Record<string, Json | string | null>,
  use: (folder: string) => Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'octavo-text-'))
  try {
    for (const file of ['tokenizer.json', 'tokenizer_config.json']) {
      cpSync(join(storiesFolder, file), join(folder, file))
    }
    for (const [file, content] of Object.entries(files)) {
      if (content === null) rmSync(join(folder, file))
      else writeFileSync(join(folder, file), asText(content))
    }
    await use(folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function asText(content: Json | string): string {
  return typeof content === 'string' ? content : JSON.stringify(content)
}

/** The embedded model's tokenizer.json with some of its keys replaced, `model` merged. */
export function storiesTokenizer(changes: Json = {}): Json {
  const path = join(storiesFolder, 'tokenizer.json')
  const json = JSON.parse(readFileSync(path, 'utf8')) as Json
  const { model = {}, ...rest } = changes
  return { ...json, ...rest, model: { ...(json.model as Json), ...(model as Json) } }
}

/** xorshift32: the same numbers in every run. */
export function randomNumbers(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % below
  }
}
