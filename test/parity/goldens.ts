/** The committed goldens: tiny models of every family and what transformers computes with them. */
import { cpSync, mkdtempSync, readFileSync, readdirSync, renameSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const root = join(__dirname, '..', 'goldens', 'models')
const oldConfig = 'config.transformers-4.json'

export interface Golden {
  name: string
  folder: string
  prompt: number[]
  rows: number
  columns: number
  /** [rows, columns], fp32 arithmetic on the weights as stored */
  logits: Float32Array
  greedy: number[]
  /** Of each greedy step: the best logit less the second. */
  margins: number[]
}

export const goldenNames: readonly string[] = readdirSync(root).sort()

export function readGolden(name: string): Golden {
  const folder = join(root, name)
  const stored = JSON.parse(readFileSync(join(folder, 'golden.json'), 'utf8')) as Record<
    string,
    never
  >
  const bytes = Uint8Array.from(Buffer.from(stored['logits']!, 'base64'))
  return { ...(stored as unknown as Golden), name, folder, logits: new Float32Array(bytes.buffer) }
}

/** Goldens whose config is there in transformers 4's spelling too. */
export const oldSpellingNames: readonly string[] = goldenNames.filter((name) =>
  readdirSync(join(root, name)).includes(oldConfig),
)

/** A temporary copy of a golden's folder with the old config in place; the caller removes it. */
export function copyWithOldConfig(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'octavo-golden-'))
  cpSync(join(root, name), folder, { recursive: true })
  renameSync(join(folder, oldConfig), join(folder, 'config.json'))
  return folder
}
