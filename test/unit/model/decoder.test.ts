import type { NativeModelSpec } from '../../../lib/native.js'
import { ReferenceModel } from '../../parity/reference.js'
import {
  concat,
  cosine,
  logitsInChunks,
  openModel,
  randomChunks,
  relativeError,
  roomy,
} from '../../helpers/decoding.js'
import { openMemory, testing } from '../../helpers/native-testing.js'
import { smallSpec, writeRandomModel, type RandomModel } from '../../helpers/random-model.js'
import { refusal } from '../../helpers/refusal.js'
import { SeededRandom } from '../../helpers/seeded-random.js'

const ropes: NativeModelSpec['ropes'] = [
  { inverseFrequencies: Float32Array.from({ length: 8 }, (_, i) => 100 ** (-i / 8)), magnitude: 1 },
  {
    inverseFrequencies: Float32Array.from({ length: 8 }, (_, i) => 3000 ** (-i / 8)),
    magnitude: 1.2,
  },
]

/** One feature each, then all of them. */
const specs: Record<string, NativeModelSpec> = {
  plain: smallSpec(),
  'tied embeddings': smallSpec({ tiedEmbeddings: true }),
  'q/k norm': smallSpec({}, () => ({ attention: { queryKeyNorm: true } })),
  biases: smallSpec({}, () => ({
    attention: { qkvBias: true, outputBias: true },
    mlp: { bias: true },
  })),
  'a window in every other layer': smallSpec(
    {},
    (index) => ({ attention: { window: index % 2 ? 0 : 11 } }),
    4,
  ),
  'two ropes': smallSpec({ ropes }, (index) => ({ attention: { rope: index % 2 } }), 3),
  'layers of different widths': smallSpec(
    {},
    (index) => ({
      attention: { heads: index ? 6 : 2 },
      mlp: { intermediateSize: index ? 17 : 64 },
    }),
    3,
  ),
  everything: smallSpec(
    { ropes },
    (index) => ({
      attention: {
        queryKeyNorm: true,
        qkvBias: true,
        outputBias: index !== 1,
        rope: index % 2,
        window: index % 2 ? 20 : 0,
        scale: 0.3,
      },
      mlp: { bias: index !== 2 },
    }),
    4,
  ),
}

const models = new Map<string, RandomModel>()
beforeAll(() => {
  Object.entries(specs).forEach(([name, spec], seed) =>
    models.set(name, writeRandomModel(spec, { seed: 100 + seed })),
  )
})
afterAll(() => models.forEach((model) => model.remove()))

const ids = new SeededRandom(1)
const prompt = Array.from({ length: 90 }, () => ids.between(0, 49))

describe.each(Object.keys(specs))('%s', (name) => {
  test.each([16, 32, 64])(
    'chunks over shuffled blocks of %i agree with the fp64 reference',
    (blockSize) => {
      const random = new SeededRandom(blockSize)
      const opened = openModel(models.get(name)!, { blockSize })
      const expected = new ReferenceModel(models.get(name)!).logits(prompt).data
      const blocks = random.shuffle(Array.from({ length: 64 }, (_, id) => id)).slice(0, 6)
      const whole = logitsInChunks(opened, prompt, blocks, [prompt.length])
      expect(relativeError(concat(whole), expected)).toBeLessThan(1e-4)
      const other = random.shuffle(Array.from({ length: 64 }, (_, id) => id)).slice(0, 6)
      const chunked = logitsInChunks(opened, prompt, other, randomChunks(prompt.length, random))
      expect(relativeError(concat(chunked), expected)).toBeLessThan(1e-4)
      opened.model.dispose()
      opened.memory.check()
      expect(opened.memory.lines()).toEqual([])
    },
  )

  test.each(['bf16', 'fp16'] as const)('in %s it points the same way', (activations) => {
    const opened = openModel(models.get(name)!, { activations })
    const expected = new ReferenceModel(models.get(name)!).logits(prompt).data
    const logits = concat(logitsInChunks(opened, prompt, [3, 1, 4, 15, 9, 2], [50, 40]))
    expect(cosine(logits, expected)).toBeGreaterThan(0.999)
    opened.model.dispose()
  })
})

test('a batch of mixed sequences gives each what it gets alone', () => {
  const model = models.get('everything')!
  const alone = openModel(model)
  const expected = concat(logitsInChunks(alone, prompt, [0, 1, 2, 3, 4, 5], [prompt.length]))
  const row = (position: number): Float32Array =>
    expected.subarray(position * 50, (position + 1) * 50)
  alone.model.dispose()

  const opened = openModel(model)
  const first = [9, 3, 12, 30, 31, 32]
  const second = [7, 5, 6, 8, 10, 11]
  opened.model.forward([{ tokens: prompt.slice(0, 33), start: 0, blocks: second, noLogit: true }])
  const logits = opened.model.forward([
    { tokens: prompt.slice(0, 20), start: 0, blocks: first, noLogit: true },
    { tokens: prompt.slice(33, 34), start: 33, blocks: second },
    { tokens: prompt.slice(0, 5), start: 0, blocks: [40, 41], everyLogit: true },
    { tokens: prompt.slice(0, 17), start: 0, blocks: [50, 20] },
  ])
  const wanted = [33, 0, 1, 2, 3, 4, 16]
  expect(relativeError(logits, concat(wanted.map(row)))).toBeLessThan(1e-5)
  const next = opened.model.forward([
    { tokens: prompt.slice(20, 90), start: 20, blocks: first },
    { tokens: prompt.slice(34, 35), start: 34, blocks: second },
  ])
  expect(relativeError(next, concat([row(89), row(34)]))).toBeLessThan(1e-5)
  opened.model.dispose()
  expect(opened.memory.lines()).toEqual([])
})

test('a step of prefill chunks alone gives no logits', () => {
  const { model } = openModel(models.get('plain')!)
  expect(model.forward([{ tokens: [1, 2, 3], start: 0, blocks: [0], noLogit: true }])).toHaveLength(
    0,
  )
  model.dispose()
})

test.each(['fp32', 'bf16'] as const)(
  'what the plan says is what a decoder of %s takes',
  (activations) => {
    const random = new SeededRandom(8)
    for (const spec of Object.values(specs)) {
      const limits = {
        maxTokens: random.between(1, 300),
        maxSequences: random.between(1, 40),
        maxBlocksPerSequence: random.between(1, 40),
        maxLogitRows: random.between(1, 100),
      }
      const written = writeRandomModel(spec, { seed: 3 })
      const load = { ...written, dtype: activations, keepFileDType: false }
      const memory = openMemory()
      const model = new testing.Model(memory, load)
      model.openDecoder({ activations, kvDType: activations, blockSize: 16, blocks: 2, limits })
      const { total, constants } = testing.decoderBytes({ spec, activations, limits })
      expect(memory.statistics('graph').allocatedBytes).toBe(total - constants)
      expect(memory.statistics('weights').allocatedBytes).toBe(
        testing.weightBytes(load) + constants,
      )
      expect(memory.lines().map(({ region, tag }) => `${region} ${tag}`)).toEqual([
        'weights rope',
        'weights weights',
        'kv kv.free',
        'kv kv.padding',
        'graph activations',
        'graph batch.input',
        'pinned batch.upload',
      ])
      model.dispose()
      expect(memory.lines()).toEqual([])
      written.remove()
    }
  },
)

test('failing the n-th allocation of a decoder and its cache leaves the weights alone', () => {
  const { spec, manifest } = models.get('everything')!
  const memory = openMemory()
  const model = new testing.Model(memory, { spec, manifest, dtype: 'fp32', keepFileDType: true })
  const before = memory.lines()
  const decoder = {
    activations: 'fp32',
    kvDType: 'fp32',
    blockSize: 16,
    blocks: 4,
    limits: roomy,
  } as const
  for (let failing = 1; failing <= 4; failing++) {
    memory.failAfter(failing)
    expect(refusal(() => model.openDecoder(decoder)).code).toBe('OCTAVO_OUT_OF_MEMORY')
    expect(memory.lines()).toEqual(before)
    memory.check()
  }
  model.openDecoder(decoder)
  model.dispose()
  expect(memory.lines()).toEqual([])
})

test.each([
  ['maxTokens', 0],
  ['maxSequences', -1],
  ['maxBlocksPerSequence', 0],
  ['maxLogitRows', 2 ** 31 - 1],
] as const)('limits with %s %i are refused', (name, value) => {
  const { spec } = models.get('plain')!
  const limits = { ...roomy, [name]: value }
  const { code, message } = refusal(() =>
    testing.decoderBytes({ spec, activations: 'fp32', limits }),
  )
  expect(code).toBe('OCTAVO_INVALID_ARGUMENT')
  expect(message).toContain(`${name} is ${value}`)
})
