/** A real chat model on the card, held to transformers: ids, logits, greedy continuations, chats, likelihood. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Engine } from '../../lib/index.js'
import type { ChatMessage } from '../../lib/index.js'
import { compareGreedy, compareLogits } from '../parity/compare.js'
import { sharedPath } from '../shared.js'

interface Golden {
  cases: {
    kind: 'text' | 'chat'
    prompt: string | ChatMessage[]
    ids: number[]
    greedy: number[]
    margin: number[]
    firstTop8: { ids: number[]; logits: number[] }
  }[]
  passage: { ids: number[]; meanNll: number }
}

const source = sharedPath('models', 'smollm2-135m', 'model.gguf')
const tool = sharedPath('tools', 'expand-gguf.mjs')
const describeModel = source !== null && tool !== null ? describe : describe.skip

// How far a logit may be off, and how many greedy steps of the five cases must then be decided and agree.
const bounds = [
  { dtype: 'fp32', doubt: 0.004, steps: 435, nll: 1e-4, cosine: 0.9999999 },
  { dtype: 'bf16', doubt: 0.3, steps: 20, nll: 0.05, cosine: 0.999 },
] as const

/** Mean −log p of each id after the first, given those before it. */
function meanNll(ids: readonly number[], data: Float32Array, columns: number): number {
  let sum = 0
  for (let i = 1; i < ids.length; i++) {
    const row = data.subarray((i - 1) * columns, i * columns)
    const largest = row.reduce((most, value) => Math.max(most, value), -Infinity)
    const total = row.reduce((all, value) => all + Math.exp(value - largest), 0)
    sum += largest + Math.log(total) - row[ids[i]!]!
  }
  return sum / (ids.length - 1)
}

describeModel('SmolLM2-135M', () => {
  let folder: string
  let golden: Golden
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'octavo-smollm2-'))
    execFileSync(process.execPath, [tool!, source!, folder], { stdio: 'pipe' })
    golden = JSON.parse(readFileSync(join(source!, '..', 'golden.json'), 'utf8')) as Golden
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  test.each(bounds)('$dtype', async ({ dtype, doubt, steps, nll, cosine }) => {
    await using engine = await Engine.load(folder, {
      device: 'cuda:0',
      dtype,
      memory: { kv: 256 * 2 ** 20 },
    })
    let decidedSteps = 0
    for (const { kind, prompt, ids, greedy, margin, firstTop8 } of golden.cases) {
      const { data, columns } = await engine.logits(ids)
      const last = data.subarray(data.length - columns)
      const found = firstTop8.ids.map((id) => last[id]!)
      expect(compareLogits(found, firstTop8.logits, 8).cosine).toBeGreaterThan(cosine)

      using session = engine.createSession()
      const settings = { maxNewTokens: greedy.length, temperature: 0, repetitionPenalty: 1 }
      const generation =
        kind === 'chat'
          ? session.chat(prompt as ChatMessage[], settings)
          : session.generate(prompt as string, settings)
      const { tokens, text, usage } = await generation.result
      expect(usage.promptTokens).toBe(ids.length)
      const { decided, agreed } = compareGreedy(tokens, greedy, margin, doubt)
      expect(agreed).toBe(decided)
      decidedSteps += decided
      if (process.env['OCTAVO_PARITY_TABLE']) console.log(`${dtype}: ${JSON.stringify(text)}`)
    }
    expect(decidedSteps).toBeGreaterThanOrEqual(steps)
    const { ids } = golden.passage
    const { data, columns } = await engine.logits(ids)
    expect(Math.abs(meanNll(ids, data, columns) - golden.passage.meanNll)).toBeLessThan(nll)
  })
})
