/** The real chat model beside the repository: its Hugging Face folder, written once into .cache. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import type { ChatMessage } from '../../lib/index.js'
import { sharedPath } from '../shared.js'

interface Case {
  /** The prompt with the chat template applied, where there is one. */
  text: string
  ids: number[]
  greedy: number[]
  /** Best logit less second best, each step. */
  margin: number[]
  firstTop8: { ids: number[]; logits: number[] }
  completion: string
}

export interface TextCase extends Case {
  kind: 'text'
  prompt: string
}

export interface ChatCase extends Case {
  kind: 'chat'
  prompt: ChatMessage[]
}

export interface Smollm2Golden {
  cases: (TextCase | ChatCase)[]
  passage: { text: string; ids: number[]; meanNll: number }
}

/** From transformers in fp32 on the same bf16 weights; null where the shared data is absent. */
export function smollm2Golden(): Smollm2Golden | null {
  const path = sharedPath('models', 'smollm2-135m', 'golden.json')
  return path === null ? null : (JSON.parse(readFileSync(path, 'utf8')) as Smollm2Golden)
}

/** The model's folder; null where the shared data is absent. */
export function smollm2Folder(): string | null {
  const cache = join(__dirname, '..', '..', '.cache')
  const folder = join(cache, 'smollm2-135m')
  if (existsSync(folder)) return folder
  const tool = sharedPath('tools', 'expand-gguf.mjs')
  const model = sharedPath('models', 'smollm2-135m', 'model.gguf')
  if (tool === null || model === null) return null
  const part = `${folder}.${process.pid}`
  mkdirSync(cache, { recursive: true })
  execFileSync(process.execPath, [tool, model, part], { stdio: 'pipe' })
  if (!existsSync(folder)) renameSync(part, folder)
  return folder
}
