import { Fields } from '../../../lib/checkpoint/fields.js'
import { contextLengthOf, ropeParametersOf } from '../../../lib/checkpoint/rope-config.js'
import { refusal, thrownBy } from './folders.js'

const parse = (values: object, layerType = 'full_attention', maxPositions = 1024) =>
  ropeParametersOf(
    new Fields('config.json', values as Record<string, unknown>),
    layerType,
    maxPositions,
  )

const llama3 = {
  factor: 8,
  low_freq_factor: 1,
  high_freq_factor: 4,
  original_max_position_embeddings: 8192,
}
const yarn = { rope_type: 'yarn', factor: 4, original_max_position_embeddings: 256 }

test.each<[string, object]>([
  ['transformers 4', { rope_theta: 5e5, rope_scaling: { rope_type: 'llama3', ...llama3 } }],
  ['transformers 4, old key', { rope_theta: 5e5, rope_scaling: { type: 'llama3', ...llama3 } }],
  ['transformers 5', { rope_parameters: { rope_theta: 5e5, rope_type: 'llama3', ...llama3 } }],
  [
    'transformers 5, a layer type each',
    { rope_parameters: { full_attention: { rope_theta: 5e5, rope_type: 'llama3', ...llama3 } } },
  ],
])('llama3 in the spelling of %s', (_, values) => {
  expect(parse(values)).toEqual({
    type: 'llama3',
    theta: 5e5,
    factor: 8,
    lowFrequencyFactor: 1,
    highFrequencyFactor: 4,
    originalPositions: 8192,
  })
})

test('default, with and without a stated theta', () => {
  expect(parse({})).toEqual({ type: 'default', theta: 10_000 })
  expect(parse({ rope_theta: 1e6, rope_scaling: null })).toEqual({ type: 'default', theta: 1e6 })
  expect(parse({ rope_parameters: { rope_type: 'default', rope_theta: 130_000 } })).toEqual({
    type: 'default',
    theta: 130_000,
  })
  expect(parse({ rope_theta: 1e6, rope_parameters: { rope_type: 'default' } })).toEqual({
    type: 'default',
    theta: 1e6,
  })
})

test('a rope a layer type', () => {
  const rope_parameters = {
    full_attention: { rope_type: 'linear', factor: 8, rope_theta: 1e6 },
    sliding_attention: { rope_type: 'default', rope_theta: 1e4 },
  }
  expect(parse({ rope_parameters })).toEqual({ type: 'linear', theta: 1e6, factor: 8 })
  expect(parse({ rope_parameters }, 'sliding_attention')).toEqual({ type: 'default', theta: 1e4 })
  const sentence = '"rope_parameters" has no rotary embedding for "full_attention" layers'
  const one = {
    rope_parameters: { sliding_attention: { rope_type: 'default' }, full_attention: null },
  }
  expect(thrownBy(() => parse(one))).toMatchObject(refusal('OCTAVO_UNSUPPORTED_MODEL', sentence))
})

test('yarn: defaults of the paper, and the keys that replace them', () => {
  const plain = parse({ rope_scaling: yarn })
  expect(plain).toMatchObject({
    factor: 4,
    originalPositions: 256,
    betaFast: 32,
    betaSlow: 1,
    truncate: true,
  })
  expect(plain).toMatchObject({ attentionFactor: 0.1 * Math.log(4) + 1 })
  const stated = { ...yarn, attention_factor: 1.5, beta_fast: 64, beta_slow: 2, truncate: false }
  expect(parse({ rope_scaling: stated })).toMatchObject({
    attentionFactor: 1.5,
    betaFast: 64,
    betaSlow: 2,
    truncate: false,
  })
  const scaled = parse({ rope_scaling: { ...yarn, mscale: 1, mscale_all_dim: 1 } })
  expect(scaled).toMatchObject({ attentionFactor: 1 })
  expect(parse({ rope_scaling: { ...yarn, mscale: 1, mscale_all_dim: 0 } })).toMatchObject({
    attentionFactor: 0.1 * Math.log(4) + 1,
  })
  expect(parse({ rope_scaling: { ...yarn, factor: null } })).toMatchObject({ factor: 4 })
  expect(parse({ original_max_position_embeddings: 512, rope_scaling: yarn })).toMatchObject({
    originalPositions: 512,
  })
  expect(parse({ rope_scaling: { rope_type: 'yarn', factor: 4 } })).toMatchObject({
    originalPositions: 1024,
  })
})

test('the context grows with yarn only, where the config keeps the original length', () => {
  expect(contextLengthOf(parse({ rope_scaling: yarn }), 256)).toBe(1024)
  expect(contextLengthOf(parse({ rope_scaling: yarn }), 4096)).toBe(4096)
  expect(contextLengthOf(parse({ rope_scaling: { type: 'linear', factor: 4 } }), 256)).toBe(256)
  expect(contextLengthOf(parse({ rope_scaling: { type: 'llama3', ...llama3 } }), 256)).toBe(256)
  expect(contextLengthOf(parse({ rope_scaling: { ...yarn, factor: 1e14 } }), 256)).toBe(2 ** 27)
})

test('dynamic is the default rope within the original length, and refused beyond', () => {
  const dynamic = { rope_type: 'dynamic', factor: 2 }
  expect(parse({ rope_scaling: dynamic })).toEqual({ type: 'default', theta: 10_000 })
  const longer = { rope_scaling: { ...dynamic, original_max_position_embeddings: 512 } }
  const sentence =
    /"rope_scaling\.rope_type" is "dynamic": .* max_position_embeddings 1024 passes the original 512/
  expect(thrownBy(() => parse(longer))).toMatchObject(refusal('OCTAVO_UNSUPPORTED_MODEL', sentence))
})

test.each<[object, string]>([
  [
    { rope_scaling: { rope_type: 'longrope' } },
    '"rope_scaling.rope_type" is "longrope"; octavo runs default, linear, llama3, yarn and, within the original length, dynamic',
  ],
  [{ rope_scaling: { type: 'mrope' } }, '"rope_scaling.type" is "mrope"'],
  [{ partial_rotary_factor: 0.5 }, '"partial_rotary_factor" is 0.5'],
  [
    { rope_parameters: { rope_type: 'default', partial_rotary_factor: 0.25 } },
    '"rope_parameters.partial_rotary_factor" is 0.25',
  ],
])('%j is not supported', (values, sentence) => {
  expect(thrownBy(() => parse(values))).toMatchObject(refusal('OCTAVO_UNSUPPORTED_MODEL', sentence))
})

test.each<[object, string]>([
  [{ rope_theta: 'x' }, '"rope_theta" must be a number above 1'],
  [{ rope_theta: 0 }, '"rope_theta" must be a number above 1'],
  [{ rope_theta: NaN }, '"rope_theta" must be a number above 1'],
  [{ rope_theta: Infinity }, '"rope_theta" must be a number above 1'],
  [{ rope_scaling: 'linear' }, '"rope_scaling" must be an object, got "linear"'],
  [{ rope_scaling: { type: 3 } }, '"rope_scaling.type" must be a string, got 3'],
  [{ rope_scaling: { type: 'linear' } }, '"rope_scaling.factor" is missing'],
  [
    { rope_scaling: { type: 'linear', factor: 0.5 } },
    '"rope_scaling.factor" must be at least 1, got 0.5',
  ],
  [
    { rope_scaling: { type: 'linear', factor: '4' } },
    '"rope_scaling.factor" must be a number above 0',
  ],
  [
    { rope_scaling: { type: 'llama3', ...llama3, low_freq_factor: 4 } },
    'must be above low_freq_factor 4, got 4',
  ],
  [
    { rope_scaling: { type: 'llama3', ...llama3, high_freq_factor: null } },
    '"rope_scaling.high_freq_factor" is missing',
  ],
  [
    { rope_scaling: { type: 'llama3', ...llama3, original_max_position_embeddings: -1 } },
    'must be a positive integer, got -1',
  ],
  [
    { rope_scaling: { ...yarn, beta_fast: 1, beta_slow: 2 } },
    '"rope_scaling.beta_fast" must be at least beta_slow 2, got 1',
  ],
  [
    { rope_scaling: { ...yarn, attention_factor: -1 } },
    '"rope_scaling.attention_factor" must be a number above 0',
  ],
  [
    { rope_scaling: { type: 'dynamic', factor: 0 } },
    '"rope_scaling.factor" must be a number above 0',
  ],
])('%j is refused', (values, sentence) => {
  expect(thrownBy(() => parse(values))).toMatchObject(
    refusal('OCTAVO_CHECKPOINT_INVALID', sentence),
  )
})
