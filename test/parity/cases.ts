/** Every golden through an engine on a device: how far its logits are, and how long its greedy ids agree. */
import { Engine } from '../../lib/index.js'
import { compareGreedy, compareLogits, type Difference } from './compare.js'
import { readGolden } from './goldens.js'

export type ParityDType = 'fp32' | 'bf16' | 'fp16'

export interface ParityCase extends Difference {
  /** Greedy steps whose margin is above what the dtype may lose, and how many of them agree. */
  decided: number
  agreed: number
}

/** Runs one golden. `folder` stands for the golden's own where a test changed a copy. */
export async function parityCase(
  name: string,
  device: string,
  dtype: ParityDType | 'auto' = 'auto',
  folder?: string,
): Promise<ParityCase> {
  const golden = readGolden(name)
  const engine = await Engine.load(folder ?? golden.folder, {
    device,
    dtype,
    memory: { kv: 4 * 2 ** 20 },
    maxSequences: 2,
    maxBatchTokens: 64,
  })
  try {
    const logits = await engine.logits(golden.prompt)
    if (logits.rows !== golden.rows || logits.columns !== golden.columns) {
      throw new Error(`${name}: logits [${logits.rows}, ${logits.columns}]`)
    }
    const difference = compareLogits(logits.data, golden.logits, golden.columns)
    const largest = golden.logits.reduce((most, value) => Math.max(most, Math.abs(value)), 0)
    // Both candidates of a step may be off by the worst error, in opposite directions.
    const doubt = Math.max(2 * difference.relative * largest, 1e-4)
    const ids = await greedyIds(engine, golden.prompt, golden.greedy.length)
    return { ...difference, ...compareGreedy(ids, golden.greedy, golden.margins, doubt) }
  } finally {
    engine.dispose()
  }
}

async function greedyIds(engine: Engine, prompt: number[], count: number): Promise<number[]> {
  const session = engine.createSession()
  try {
    const options = { maxNewTokens: count, temperature: 0, ignoreEos: true }
    return (await session.generate(prompt, options).result).tokens
  } finally {
    session.dispose()
  }
}
