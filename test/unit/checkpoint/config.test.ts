import { dimensionsOf, isTied, modelConfigOf } from '../../../lib/checkpoint/config.js'
import { Fields } from '../../../lib/checkpoint/fields.js'
import { refusal, thrownBy, tinyConfig } from './folders.js'

const fieldsOf = (changes: object = {}) => new Fields('config.json', { ...tinyConfig, ...changes })
const configOf = (changes: object = {}) => modelConfigOf(fieldsOf(changes))

test('dimensions, with the defaults of absent and null keys', () => {
  expect(dimensionsOf(fieldsOf())).toEqual({
    vocabularySize: 11,
    hiddenSize: 8,
    intermediateSize: 12,
    layers: 1,
    heads: 2,
    kvHeads: 1,
    headDim: 4,
    maxPositions: 64,
    normEpsilon: 1e-5,
  })
  const absent = dimensionsOf(
    fieldsOf({ num_key_value_heads: null, rms_norm_eps: undefined, head_dim: null }),
  )
  expect(absent).toMatchObject({ kvHeads: 2, normEpsilon: 1e-6, headDim: 4 })
})

test('head_dim as stated, else the family default, else hidden / heads', () => {
  expect(dimensionsOf(fieldsOf({ head_dim: 24 })).headDim).toBe(24)
  expect(dimensionsOf(fieldsOf({ head_dim: 24 }), { headDim: 128 }).headDim).toBe(24)
  expect(dimensionsOf(fieldsOf(), { headDim: 128 }).headDim).toBe(128)
})

test.each<[object, string]>([
  [{ hidden_size: 'abc' }, '"hidden_size" must be a positive integer, got "abc"'],
  [{ hidden_size: undefined }, '"hidden_size" is missing'],
  [
    { hidden_size: JSON.parse('1e400') as number },
    '"hidden_size" must be a positive integer, got Infinity',
  ],
  [{ num_hidden_layers: -4 }, '"num_hidden_layers" must be a positive integer, got -4'],
  [
    { num_hidden_layers: 1e9 },
    '"num_hidden_layers" must be an integer of at most 4096, got 1000000000',
  ],
  [{ num_attention_heads: 1e9 }, '"num_attention_heads" must be an integer of at most 4096'],
  [{ num_attention_heads: 0 }, '"num_attention_heads" must be a positive integer, got 0'],
  [
    { num_attention_heads: 3, num_key_value_heads: 2 },
    '"num_key_value_heads" must be a divisor of the 3 attention heads, got 2',
  ],
  [{ num_key_value_heads: 4 }, 'must be a divisor of the 2 attention heads, got 4'],
  [
    { num_attention_heads: 3, num_key_value_heads: 3 },
    'must be a divisor of hidden_size 8, or head_dim given, got 3',
  ],
  [{ vocab_size: 0 }, '"vocab_size" must be a positive integer, got 0'],
  [{ vocab_size: 1e10 }, '"vocab_size" must be an integer of at most'],
  [{ intermediate_size: 1.5 }, '"intermediate_size" must be a positive integer, got 1.5'],
  [{ max_position_embeddings: -1 }, '"max_position_embeddings" must be a positive integer, got -1'],
  [{ rms_norm_eps: 0 }, '"rms_norm_eps" must be a number above 0 and at most 1, got 0'],
  [{ rms_norm_eps: -1e-5 }, '"rms_norm_eps" must be a number above 0'],
  [{ rms_norm_eps: '1e-5' }, '"rms_norm_eps" must be a number above 0'],
  [{ hidden_act: 3 }, '"hidden_act" must be a string, got 3'],
])('%j is refused', (changes, sentence) => {
  expect(thrownBy(() => dimensionsOf(fieldsOf(changes)))).toMatchObject(
    refusal('OCTAVO_CHECKPOINT_INVALID', sentence),
  )
})

test.each<[object, string]>([
  [{ head_dim: 5 }, 'the head size is 5; rotary attention needs an even head size of at most 256'],
  [{ head_dim: 258 }, 'the head size is 258'],
  [{ hidden_size: 6 }, 'the head size is 3'],
  [{ hidden_act: 'gelu' }, '"hidden_act" is "gelu"; this family runs with "silu"'],
])('%j is not supported', (changes, sentence) => {
  expect(thrownBy(() => dimensionsOf(fieldsOf(changes)))).toMatchObject(
    refusal('OCTAVO_UNSUPPORTED_MODEL', sentence),
  )
})

test('the key ties or unties; without it the missing head ties', () => {
  expect(isTied(configOf({ tie_word_embeddings: true }), true)).toBe(true)
  expect(isTied(configOf({ tie_word_embeddings: true }), false)).toBe(true)
  expect(isTied(configOf({ tie_word_embeddings: false }), true)).toBe(false)
  expect(isTied(configOf({ tie_word_embeddings: false }), false)).toBe(false)
  expect(isTied(configOf({ tie_word_embeddings: null }), true)).toBe(false)
  expect(isTied(configOf({ tie_word_embeddings: null }), false)).toBe(true)
})

test('a wrapper nests the language model in text_config', () => {
  const root = {
    architectures: ['SomeForConditionalGeneration'],
    model_type: 'some',
    tie_word_embeddings: true,
  }
  const config = modelConfigOf(
    new Fields('config.json', { ...root, text_config: { model_type: 'mistral', hidden_size: 8 } }),
  )
  expect(config).toMatchObject({
    architecture: root.architectures[0],
    modelType: 'some',
    textArchitecture: null,
    textModelType: 'mistral',
  })
  expect(config.fields.integer('hidden_size')).toBe(8)
  expect(isTied(config, true)).toBe(true)
  expect((thrownBy(() => config.fields.integer('vocab_size')) as Error).message).toContain(
    '"text_config.vocab_size" is missing',
  )
})

test.each([{ architectures: 'LlamaForCausalLM' }, { model_type: 3 }, { text_config: 'x' }])(
  '%j has a wrong type',
  (changes) => {
    expect(thrownBy(() => configOf(changes))).toMatchObject({ code: 'OCTAVO_CHECKPOINT_INVALID' })
  },
)
