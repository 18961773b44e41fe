/** Every family on a CUDA device, held to transformers' logits and greedy ids. */
import { expectAgreement, parityCase } from '../parity/cases.js'
import { goldenNames } from '../parity/goldens.js'

// Rounding of activations to 8 and 11 bits of mantissa; fp32 differs by the order of sums.
const bounds = [
  ['fp32', 1e-4, 0.999999],
  ['bf16', Infinity, 0.999],
  ['fp16', Infinity, 0.99999],
] as const

const table: Record<string, Record<string, number>> = {}
afterAll(() => {
  if (process.env['OCTAVO_PARITY_TABLE']) console.table(table)
})

describe.each(bounds)('%s', (dtype, relative, cosine) => {
  test.each(goldenNames)('%s', async (name) => {
    const found = await parityCase(name, 'cuda:0', dtype)
    table[`${name} ${dtype}`] = { ...found }
    expect(found.relative).toBeLessThanOrEqual(relative)
    expect(found.cosine).toBeGreaterThanOrEqual(cosine)
    expectAgreement(found)
  })
})
