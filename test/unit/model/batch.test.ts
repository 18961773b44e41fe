import { testing, type BatchLimits, type Sequence } from '../../helpers/native-testing.js'
import { refusal } from '../../helpers/refusal.js'
import { SeededRandom } from '../../helpers/seeded-random.js'

const limits: BatchLimits = {
  maxTokens: 64,
  maxSequences: 4,
  maxBlocksPerSequence: 4,
  maxLogitRows: 32,
}

test('prefill and decode lie side by side in one flat batch', () => {
  const batch = testing.buildBatch(
    [
      { tokens: [7, 8, 9], start: 15, blocks: [5, 2], noLogit: true },
      { tokens: [4], start: 33, blocks: [1, 0, 3, 9] },
      { tokens: [1, 2], start: 0, blocks: [6], everyLogit: true },
    ],
    16,
    limits,
  )
  expect(batch).toEqual({
    tokens: Int32Array.of(7, 8, 9, 4, 1, 2),
    positions: Int32Array.of(15, 16, 17, 33, 0, 1),
    slots: BigInt64Array.of(95n, 32n, 33n, 49n, 96n, 97n),
    queryStart: Int32Array.of(0, 3, 4, 6),
    contextLength: Int32Array.of(18, 34, 2),
    blockTable: Int32Array.of(5, 2, -1, 1, 0, 3, 6, -1, -1),
    logitRows: Int32Array.of(3, 4, 5),
    tableStride: 3,
    maxQueryLength: 3,
    maxContextLength: 34,
  })
})

test('slots of large block ids do not overflow', () => {
  const batch = testing.buildBatch([{ tokens: [1], start: 63, blocks: [2 ** 31 - 1] }], 64, limits)
  expect(batch.slots[0]).toBe(2n ** 37n - 1n)
})

test.each<[RegExp, Sequence]>([
  [/sequence 1: has no tokens/, { tokens: [], start: 0, blocks: [1] }],
  [/sequence 1: starts at position -1/, { tokens: [1], start: -1, blocks: [1] }],
  [/sequence 1: has no block table/, { tokens: [1], start: 0 }],
  [
    /sequence 1: needs 17 tokens of KV, its 1 blocks cover 16/,
    { tokens: [1], start: 16, blocks: [1] },
  ],
  [
    /sequence 1: needs 65 tokens of KV, planned for 4 blocks/,
    { tokens: [1], start: 64, blocks: [1, 2, 3, 4, 5] },
  ],
  [/sequence 1: lists block -1/, { tokens: [1], start: 16, blocks: [1, -1] }],
  [
    /sequence 1: wants every logit and none/,
    { tokens: [1], start: 0, blocks: [1], everyLogit: true, noLogit: true },
  ],
  [
    /65 tokens, planned for 64/,
    { tokens: Array.from({ length: 65 }, () => 1), start: 0, blocks: [1, 2, 3, 4, 5] },
  ],
  [/needs 2147483648 tokens of KV/, { tokens: [1], start: 2 ** 31 - 1, blocks: [1] }],
])('a sequence that cannot be run is an internal error: %s', (problem, sequence) => {
  const fine = { tokens: [1], start: 0, blocks: [0] }
  const { code, message } = refusal(() => testing.buildBatch([fine, sequence], 16, limits))
  expect(code).toBe('OCTAVO_INTERNAL')
  expect(message).toMatch(problem)
})

test('a batch beyond its limits is an internal error', () => {
  const many = (count: number, sequence: Sequence): Sequence[] =>
    Array.from({ length: count }, () => sequence)
  const one = { tokens: [1], start: 0, blocks: [0] }
  const wide = {
    tokens: Array.from({ length: 17 }, () => 1),
    start: 0,
    blocks: [0, 1],
    everyLogit: true,
  }
  expect(refusal(() => testing.buildBatch(many(5, one), 16, limits)).message).toMatch(
    /5 sequences, planned for 4/,
  )
  expect(refusal(() => testing.buildBatch(many(4, wide), 16, limits)).message).toMatch(
    /68 tokens, planned for 64/,
  )
  expect(refusal(() => testing.buildBatch(many(2, wide), 16, limits)).message).toMatch(
    /34 logit rows, planned for 32/,
  )
})

test.each([21, 22, 23])('random batches agree with the definition (seed %i)', (seed) => {
  const random = new SeededRandom(seed)
  const roomy = { maxTokens: 1000, maxSequences: 20, maxBlocksPerSequence: 50, maxLogitRows: 1000 }
  for (let round = 0; round < 25; round++) {
    const blockSize = random.pick([16, 32, 64])
    const sequences = Array.from({ length: random.between(1, 12) }, (): Sequence => {
      const tokens = Array.from({ length: random.between(1, 40) }, () => random.between(0, 999))
      const start = random.between(0, 300)
      const blocks = Math.ceil((start + tokens.length) / blockSize) + random.between(0, 2)
      const logits = random.pick(['every', 'last', 'none'])
      return {
        tokens,
        start,
        blocks: Array.from({ length: blocks }, () => random.between(0, 5000)),
        everyLogit: logits === 'every',
        noLogit: logits === 'none',
      }
    })
    const batch = testing.buildBatch(sequences, blockSize, roomy)
    expect([...batch.tokens]).toEqual(sequences.flatMap(({ tokens }) => tokens))
    const rows: number[] = []
    let flat = 0
    sequences.forEach(({ tokens, start, blocks, everyLogit, noLogit }, index) => {
      expect(batch.queryStart[index]).toBe(flat)
      expect(batch.contextLength[index]).toBe(start + tokens.length)
      const row = batch.blockTable.subarray(
        index * batch.tableStride,
        (index + 1) * batch.tableStride,
      )
      const used = Math.ceil((start + tokens.length) / blockSize)
      expect([...row]).toEqual(
        Array.from(row, (_, column) => (column < used ? blocks![column] : -1)),
      )
      tokens.forEach((_, offset) => {
        const position = start + offset
        expect(batch.positions[flat]).toBe(position)
        const slot = blocks![Math.floor(position / blockSize)]! * blockSize + (position % blockSize)
        expect(batch.slots[flat]).toBe(BigInt(slot))
        if (everyLogit || (!noLogit && offset === tokens.length - 1)) rows.push(flat)
        flat++
      })
    })
    expect([...batch.logitRows]).toEqual(rows)
    expect(batch.maxQueryLength).toBe(Math.max(...sequences.map(({ tokens }) => tokens.length)))
    expect(batch.maxContextLength).toBe(Math.max(...batch.contextLength))
    expect(batch.tableStride).toBe(Math.ceil(batch.maxContextLength / blockSize))
  }
})
