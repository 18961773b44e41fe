/** What the tests of the SDK share: the embedded model on the CPU, its golden, and the exact clean-up checks. */
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  Engine,
  type EngineOptions,
  type LedgerLine,
  type MemoryReport,
} from '../../../lib/index.js'

export { expectNothingLive } from '../../helpers/nothing-live.js'

export const root = join(__dirname, '..', '..', '..')
export const stories = join(root, 'models', 'stories260k')

interface Golden {
  prompt: string
  ids: number[]
  text: string
}

export const golden: readonly [Golden, Golden] = (() => {
  return require(join(stories, 'golden-greedy.json')) as [Golden, Golden]
})()

/** Greedy ids that follow a golden prompt of `promptTokens` ids. */
export const continuation = ({ ids }: Golden, promptTokens: number): number[] =>
  ids.slice(promptTokens)

export function loadStories(options: EngineOptions = {}): Promise<Engine> {
  return Engine.load(undefined, {
    device: 'cpu',
    threads: 2,
    memory: { kv: 8 * 2 ** 20 },
    maxSequences: 16,
    maxBatchTokens: 256,
    ...options,
  })
}

/** A ledger without its peaks, which never go back. */
export function ledgerOf(engine: Engine): Omit<LedgerLine, 'peakBytes'>[] {
  return engine.memory().ledger.map(({ peakBytes: _, ...line }) => line)
}

/** Bytes on the ledger lines of one session, or of all. */
export function sessionBytes({ ledger }: MemoryReport, id?: number): number {
  return ledger
    .filter(({ owner }) => owner.kind === 'session' && (id === undefined || owner.id === id))
    .reduce((sum, { bytes }) => sum + bytes, 0)
}

/** Makes the copied model go on for minutes: no id ends a text, and the context has room. */
export async function makeEndless(folder: string): Promise<void> {
  for (const [name, change] of [
    ['config.json', { eos_token_id: null, max_position_embeddings: 2 ** 16 }],
    ['generation_config.json', { eos_token_id: null }],
  ] as const) {
    const path = join(folder, name)
    const config = JSON.parse(await readFile(path, 'utf8')) as object
    await writeFile(path, JSON.stringify({ ...config, ...change }))
  }
}

/** A writable copy of the embedded model; removed by the returned `remove`. */
export async function copyOfStories(): Promise<{ folder: string; remove: () => Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'octavo-test-'))
  await cp(stories, folder, { recursive: true })
  return { folder, remove: () => rm(folder, { recursive: true, force: true }) }
}
