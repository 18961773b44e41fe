/** Every golden through an engine on a device: how far its logits are, and how long its greedy ids agree. */
import { Engine, type Logits } from '../../lib/index.js'
import { compareClear, compareGreedy, compareLogits, type Difference } from './compare.js'
import { readGolden } from './goldens.js'

export type ParityDType = 'fp32' | 'bf16' | 'fp16'

export interface ParityCase extends Difference {
  /** Greedy steps before the first whose margin is within what the dtype may lose, and how many of them agree. */
  decided: number
  agreed: number
  /** Steps after the golden's own tokens whose margin is above that, and how many of them choose the golden's. */
  clear: number
  right: number
  /** Steps of the own greedy answer whose own margin is above that, and how many a prefill of it chooses too. */
  ownClear: number
  ownRight: number
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
    const forced = await engine.logits([...golden.prompt, ...golden.greedy.slice(0, -1)])
    const own = await engine.logits([...golden.prompt, ...ids.slice(0, -1)])
    const given = compareClear(stepsOf(forced, golden), golden.greedy, golden.margins, doubt)
    const again = compareClear(stepsOf(own, golden), ids, null, doubt)
    return {
      ...difference,
      ...compareGreedy(ids, golden.greedy, golden.margins, doubt),
      ...given,
      ownClear: again.clear,
      ownRight: again.right,
    }
  } finally {
    engine.dispose()
  }
}

/** The rows from which the tokens after the prompt are chosen. */
function stepsOf(
  { rows, columns, data }: Logits,
  { prompt }: { prompt: number[] },
): Float32Array[] {
  const first = prompt.length - 1
  return Array.from({ length: rows - first }, (_, step) =>
    data.subarray((first + step) * columns, (first + step + 1) * columns),
  )
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

/** What holds of a case whatever its dtype: enough steps say something, and all of those agree. */
export function expectAgreement(found: ParityCase): void {
  expect(found.agreed).toBe(found.decided)
  expect(found.clear).toBeGreaterThanOrEqual(12)
  expect(found.right).toBe(found.clear)
  expect(found.ownClear).toBeGreaterThanOrEqual(12)
  expect(found.ownRight).toBe(found.ownClear)
}
