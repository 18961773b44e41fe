/** The memory by which blocks of a split decode meet holds what the kernels lay there, for every shape. */
import {
  testing,
  type AttentionLimits,
  type AttentionScratch,
} from '../../helpers/native-testing.js'

/** What a kernel's finishers use at most: the last slots are two of each of 144 blocks. */
const ownSlots = 2 * 144
const finishers = 2
const mostTokens = 8

/** Bytes of a slot: of a product of 1, 2 or 4 tiles of 8 rows, with a vector of a softmax and one each 16 dims. */
function slotBytes(rows: number, dim: number): number {
  const tiles = [1, 2, 4].find((count) => count * 8 >= rows)!
  const lanes = rows >= 8 ? 32 : Math.ceil(rows / 2) * 8
  return finishers * tiles * (1 + Math.ceil(dim / 16 / finishers)) * lanes * 16
}

function* everyShape(): Generator<AttentionLimits> {
  for (const headDim of [64, 80, 96, 128, 192, 256]) {
    for (const kvHeads of [1, 3, 8]) {
      for (let group = 1; group <= 20; group++) {
        for (const maxSequences of [1, 7, 64, 256]) {
          for (const maxContextLength of [1, 300, 4096, 131072]) {
            const heads = kvHeads * group
            yield { dtype: 'bf16', heads, kvHeads, headDim, maxSequences, maxContextLength }
          }
        }
      }
    }
  }
}

/** What of the layout does not hold, or nothing. */
function faultsOf(shape: AttentionLimits, layout: AttentionScratch): string[] {
  const group = shape.heads / shape.kvHeads
  const { counterBytes, groupCounters, bytes } = layout
  const items = shape.maxSequences * shape.kvHeads * Math.max(layout.shares, layout.fewShares)
  const most = Math.max(layout.capacity, layout.fewCapacity)
  const holds: [string, boolean][] = [
    ['every head has an item', layout.headShare * layout.shares >= group],
    ['and with a few tokens', layout.fewHeadShare * layout.fewShares >= group],
    ['rows fit a product', layout.headShare <= 16 && layout.fewHeadShare * mostTokens <= 32],
    ['counters of items', 512 + items * finishers * 4 <= groupCounters],
    ['counters of groups', groupCounters + most * finishers * 4 <= counterBytes],
    ['slots for one', layout.capacity >= 1 && layout.fewCapacity >= 1],
  ]
  const kernels = [[layout.headShare, layout.capacity] as const]
  for (let tokens = 2; tokens <= mostTokens; tokens++) {
    kernels.push([layout.fewHeadShare * tokens, layout.fewCapacity])
  }
  for (const [rows, capacity] of kernels) {
    const end = counterBytes + (capacity + ownSlots) * slotBytes(rows, shape.headDim)
    holds.push([`${capacity} + ${ownSlots} slots of ${rows} rows end at ${end}`, end <= bytes])
  }
  return holds.filter(([, does]) => !does).map(([what]) => what)
}

test('slots and counters lie inside, whatever the heads, limits and query tokens', () => {
  let shapes = 0
  for (const shape of everyShape()) {
    const layout = testing.attentionScratch(shape)
    const faults = faultsOf(shape, layout)
    if (faults.length > 0) throw new Error(JSON.stringify({ shape, layout, faults }))
    shapes++
  }
  expect(shapes).toBe(5760)
})

test('a shape that no kernel is made for takes none', () => {
  const shape = { heads: 4, kvHeads: 2, headDim: 64, maxSequences: 4, maxContextLength: 100 }
  expect(testing.attentionScratch({ ...shape, dtype: 'fp32' }).bytes).toBe(0)
  expect(testing.attentionScratch({ ...shape, dtype: 'fp16', headDim: 40 }).bytes).toBe(0)
  expect(testing.attentionScratch({ ...shape, dtype: 'fp16' }).bytes).toBeGreaterThan(0)
})
