import type { NativeModelSpec } from '../../../lib/native.js'
import { testing } from '../../helpers/native-testing.js'
import { smallSpec } from '../../helpers/random-model.js'
import { refusal } from '../../helpers/refusal.js'
import { storiesSpec } from '../../helpers/stories-model.js'

test('real and small specs pass', () => {
  testing.validateSpec(storiesSpec)
  testing.validateSpec(smallSpec())
})

test('parameters come in load order, with the shapes of the spec', () => {
  const spec = smallSpec({}, (index) =>
    index === 1
      ? { attention: { qkvBias: true, outputBias: true, queryKeyNorm: true }, mlp: { bias: true } }
      : {},
  )
  expect(testing.parametersOf(spec).map(({ name, shape }) => `${name} ${shape.join('×')}`)).toEqual(
    [
      'embedding 50×24',
      'layers.0.attention.norm 24',
      'layers.0.attention.qkv 128×24',
      'layers.0.attention.output 24×64',
      'layers.0.mlp.norm 24',
      'layers.0.mlp.gateUp 80×24',
      'layers.0.mlp.down 24×40',
      'layers.1.attention.norm 24',
      'layers.1.attention.qkv 128×24',
      'layers.1.attention.qkvBias 128',
      'layers.1.attention.queryNorm 16',
      'layers.1.attention.keyNorm 16',
      'layers.1.attention.output 24×64',
      'layers.1.attention.outputBias 24',
      'layers.1.mlp.norm 24',
      'layers.1.mlp.gateUp 80×24',
      'layers.1.mlp.gateUpBias 80',
      'layers.1.mlp.down 24×40',
      'layers.1.mlp.downBias 24',
      'finalNorm 24',
      'head 50×24',
    ],
  )
  const tied = testing.parametersOf(smallSpec({ tiedEmbeddings: true }))
  expect(tied.map(({ name }) => name)).not.toContain('head')
})

const rope = (inverseFrequencies: number[], magnitude = 1): NativeModelSpec['ropes'] => [
  { inverseFrequencies: Float32Array.from(inverseFrequencies), magnitude },
]
const eight = [1, 1, 1, 1, 1, 1, 1, 1]

test.each<[string, Partial<NativeModelSpec>]>([
  ['vocabularySize is 0', { vocabularySize: 0 }],
  ['vocabularySize is 2000000000', { vocabularySize: 2e9 }],
  ['sampledVocabulary is 51; allowed: 1 to 50', { sampledVocabulary: 51 }],
  ['sampledVocabulary is 0', { sampledVocabulary: 0 }],
  ['hiddenSize is -3', { hiddenSize: -3 }],
  ['contextLength is 0', { contextLength: 0 }],
  ['contextLength is 2147483647', { contextLength: 2 ** 31 - 1 }],
  ['normEpsilon is nan', { normEpsilon: NaN }],
  ['normEpsilon is 0', { normEpsilon: 0 }],
  ['normEpsilon is inf', { normEpsilon: Infinity }],
  ['the number of layers is 0', { layers: [] }],
  ['the number of ropes is 0', { ropes: [] }],
  [
    'layers[0].attention.headDim is 16, but ropes[0] has 7 frequencies',
    { ropes: rope(eight.slice(1)) },
  ],
  ['ropes[0].inverseFrequencies holds nan', { ropes: rope([NaN, ...eight.slice(1)]) }],
  ['ropes[0].inverseFrequencies holds -1', { ropes: rope([-1, ...eight.slice(1)]) }],
  ['ropes[0].magnitude is inf', { ropes: rope(eight, Infinity) }],
  ['ropes[0].magnitude is 0', { ropes: rope(eight, 0) }],
])('a spec whose %s is refused', (problem, change) => {
  const { code, message } = refusal(() => testing.validateSpec(smallSpec(change)))
  expect(code).toBe('OCTAVO_INVALID_ARGUMENT')
  expect(message).toContain(`model spec (random): ${problem}`)
})

test.each<[string, Partial<NativeModelSpec['layers'][0]['attention']>]>([
  ['heads is 0', { heads: 0 }],
  ['kvHeads is 5; allowed: 1 to 4', { kvHeads: 5 }],
  ['headDim is 258', { headDim: 258 }],
  ['headDim is 0', { headDim: 0 }],
  ['scale is nan', { scale: NaN }],
  ['scale is 0', { scale: 0 }],
  ['scale is inf', { scale: 1e300 }],
  ['window is -1', { window: -1 }],
  ['rope is 1; allowed: 0 to 0', { rope: 1 }],
  ['rope is -1', { rope: -1 }],
])('a layer whose attention.%s is refused by its index', (problem, attention) => {
  const spec = smallSpec({}, (index) => (index === 1 ? { attention } : {}))
  const { code, message } = refusal(() => testing.validateSpec(spec))
  expect(code).toBe('OCTAVO_INVALID_ARGUMENT')
  expect(message).toContain(`layers[1].attention.${problem}`)
})

test('an intermediate size of nothing is refused', () => {
  const spec = smallSpec({}, () => ({ mlp: { intermediateSize: 0 } }))
  expect(refusal(() => testing.validateSpec(spec)).message).toContain(
    'layers[0].mlp.intermediateSize is 0',
  )
})

test.each<[RegExp, Partial<NativeModelSpec['layers'][0]['attention']>]>([
  [/layers\[1\]\.attention has 4 heads over 3 KV heads; .* multiple/, { kvHeads: 3 }],
  [/layers\[1\]\.attention\.headDim is 15; .* even/, { headDim: 15 }],
  [
    /layers\[1\]\.attention has 1 KV heads of 16, layers\[0\] has 2 of 16; .* share/,
    { kvHeads: 1 },
  ],
])('what the decoder cannot run is refused as unsupported: %s', (problem, attention) => {
  const spec = smallSpec({}, (index) => (index === 1 ? { attention } : {}))
  const { code, message } = refusal(() => testing.validateSpec(spec))
  expect(code).toBe('OCTAVO_UNSUPPORTED_MODEL')
  expect(message).toMatch(problem)
})

test.each<[string, unknown]>([
  ['spec is missing: expected an object', undefined],
  ['spec.family is 3: expected a string', { ...smallSpec(), family: 3 }],
  [
    'spec.hiddenSize is 1.5: expected an integer from -2147483648 to 2147483647',
    { ...smallSpec(), hiddenSize: 1.5 },
  ],
  [
    'spec.tiedEmbeddings is "yes": expected true or false',
    { ...smallSpec(), tiedEmbeddings: 'yes' },
  ],
  ['spec.layers is an object: expected an array', { ...smallSpec(), layers: {} }],
  ['spec.layers[0] is null: expected an object', { ...smallSpec(), layers: [null] }],
  [
    'spec.ropes[0].inverseFrequencies is an array: expected a Float32Array',
    { ...smallSpec(), ropes: [{ inverseFrequencies: [1], magnitude: 1 }] },
  ],
])('an argument of the wrong type is named: %s', (problem, spec) => {
  const { code, message } = refusal(() => testing.validateSpec(spec as NativeModelSpec))
  expect(code).toBe('OCTAVO_INVALID_ARGUMENT')
  expect(message).toBe(problem)
})
