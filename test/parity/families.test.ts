/** Every family on the CPU, held to transformers' logits and greedy ids. */
import { rmSync } from 'node:fs'
import { expectAgreement, parityCase, type ParityCase } from './cases.js'
import { copyWithOldConfig, goldenNames, oldSpellingNames } from './goldens.js'

const table: Record<string, string>[] = []

function row(name: string, dtype: string, found: ParityCase): void {
  const { relative, cosine, decided, agreed, clear, right, ownClear, ownRight } = found
  table.push({
    name,
    dtype,
    relative: relative.toExponential(2),
    cosine: cosine.toFixed(7),
    greedy: `${agreed}/${decided}`,
    given: `${right}/${clear}`,
    own: `${ownRight}/${ownClear}`,
  })
}

afterAll(() => {
  if (process.env['OCTAVO_PARITY_TABLE']) console.table(table)
})

// fp32 arithmetic over the weights as stored: what the goldens were made with.
test.each(goldenNames)('%s, fp32 arithmetic', async (name) => {
  const found = await parityCase(name, 'cpu')
  row(name, 'auto', found)
  expect(found.relative).toBeLessThan(1e-4)
  expectAgreement(found)
})

test.each(goldenNames)('%s, bf16', async (name) => {
  const found = await parityCase(name, 'cpu', 'bf16')
  row(name, 'bf16', found)
  expect(found.cosine).toBeGreaterThanOrEqual(0.999)
  expectAgreement(found)
})

test.each(goldenNames)('%s, fp16', async (name) => {
  const found = await parityCase(name, 'cpu', 'fp16')
  row(name, 'fp16', found)
  expect(found.cosine).toBeGreaterThanOrEqual(0.99999)
  expectAgreement(found)
})

test.each(oldSpellingNames)('%s, config in the spelling of transformers 4', async (name) => {
  const folder = copyWithOldConfig(name)
  try {
    expect((await parityCase(name, 'cpu', 'auto', folder)).relative).toBeLessThan(1e-4)
  } finally {
    rmSync(folder, { recursive: true })
  }
})
