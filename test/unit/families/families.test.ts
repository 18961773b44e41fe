import { modelConfigOf } from '../../../lib/checkpoint/config.js'
import { Fields } from '../../../lib/checkpoint/fields.js'
import { families, familyOf } from '../../../lib/families/index.js'
import { refusal, thrownBy, tinyConfig } from '../checkpoint/folders.js'

const configOf = (values: object) =>
  modelConfigOf(new Fields('config.json', values as Record<string, unknown>))
const modelOf = (changes: object, hasHead = true) => {
  const config = configOf({ ...tinyConfig, ...changes })
  return familyOf(config).modelOf(config, hasHead)
}
const attentionOf = (changes: object) => modelOf(changes).spec.layers[0]!.attention
const namesOf = (changes: object) => modelOf(changes).parameters.map(({ name }) => name)

test('the first architecture decides; model_type where there is none', () => {
  for (const family of families) {
    for (const name of family.architectures)
      expect(familyOf(configOf({ architectures: [name] }))).toBe(family)
    for (const name of family.modelTypes)
      expect(familyOf(configOf({ model_type: name }))).toBe(family)
  }
  const wrapper = { architectures: ['Mistral3ForConditionalGeneration'], model_type: 'mistral3' }
  expect(
    familyOf(configOf({ ...wrapper, text_config: { model_type: 'mistral' } })).modelTypes,
  ).toEqual(['mistral'])
})

test.each<[object, string]>([
  [
    { architectures: ['GPT2LMHeadModel'], model_type: 'llama' },
    'config.json: the model is of "GPT2LMHeadModel", which octavo does not run; it runs LlamaForCausalLM, MistralForCausalLM, Qwen2ForCausalLM, Qwen3ForCausalLM',
  ],
  [{ model_type: 'mamba' }, 'the model is of "mamba"'],
  [{}, 'the model names no architecture'],
  [{ architectures: [] }, 'the model names no architecture'],
  [{ architectures: ['LlamaForSequenceClassification'] }, 'of "LlamaForSequenceClassification"'],
  [
    { architectures: ['__proto__'], text_config: { model_type: 'qwen2_vl_text' } },
    'of "__proto__"',
  ],
])('%j is not supported', (values, sentence) => {
  expect(thrownBy(() => familyOf(configOf(values)))).toMatchObject(
    refusal('OCTAVO_UNSUPPORTED_MODEL', sentence),
  )
})

const plain = { qkvBias: false, outputBias: false, queryKeyNorm: false, window: 0, headDim: 4 }

test.each<[string, object, object]>([
  ['Llama', {}, plain],
  ['Llama', { attention_bias: true }, { ...plain, qkvBias: true, outputBias: true }],
  ['Mistral', { attention_bias: true }, { ...plain, window: 4096 }],
  ['Mistral', { sliding_window: 3, head_dim: 24 }, { ...plain, window: 3, headDim: 24 }],
  ['Qwen2', { attention_bias: false }, { ...plain, qkvBias: true }],
  ['Qwen3', { head_dim: 4 }, { ...plain, queryKeyNorm: true }],
  ['Qwen3', {}, { ...plain, queryKeyNorm: true, headDim: 128 }],
  [
    'Qwen3',
    { head_dim: 4, attention_bias: true },
    { qkvBias: true, outputBias: true, queryKeyNorm: true, window: 0, headDim: 4 },
  ],
])('%sForCausalLM with %j', (family, changes, expected) => {
  const attention = attentionOf({ ...changes, architectures: [`${family}ForCausalLM`] })
  expect(attention).toMatchObject({ ...expected, heads: 2, kvHeads: 1, rope: 0 })
  expect(attention.scale).toBe(attention.headDim ** -0.5)
})

test('canonical names in load order, biases and norms where the traits have them', () => {
  expect(namesOf({ architectures: ['Qwen3ForCausalLM'], attention_bias: true })).toEqual([
    'embedding',
    'layers.0.attention.norm',
    'layers.0.attention.qkv',
    'layers.0.attention.qkvBias',
    'layers.0.attention.queryNorm',
    'layers.0.attention.keyNorm',
    'layers.0.attention.output',
    'layers.0.attention.outputBias',
    'layers.0.mlp.norm',
    'layers.0.mlp.gateUp',
    'layers.0.mlp.down',
    'finalNorm',
    'head',
  ])
  expect(namesOf({ mlp_bias: true, tie_word_embeddings: true }).slice(-6)).toEqual([
    'layers.0.mlp.norm',
    'layers.0.mlp.gateUp',
    'layers.0.mlp.gateUpBias',
    'layers.0.mlp.down',
    'layers.0.mlp.downBias',
    'finalNorm',
  ])
})

test('equal ropes of two layer types are kept once, different ones twice', () => {
  const qwen = {
    architectures: ['Qwen2ForCausalLM'],
    num_hidden_layers: 3,
    use_sliding_window: true,
    sliding_window: 5,
    max_window_layers: 1,
  }
  expect(modelOf(qwen).spec.ropes).toHaveLength(1)
  const rope_parameters = {
    full_attention: { rope_theta: 1e6 },
    sliding_attention: { rope_theta: 1e4 },
  }
  const { spec } = modelOf({ ...qwen, rope_parameters })
  expect(spec.ropes).toHaveLength(2)
  expect(spec.layers.map(({ attention }) => [attention.rope, attention.window])).toEqual([
    [0, 0],
    [1, 5],
    [1, 5],
  ])
  expect(spec.ropes.map(({ inverseFrequencies }) => inverseFrequencies[1])).toEqual(
    [1e-3, 1e-2].map(Math.fround),
  )
})

test('YaRN lengthens the context', () => {
  const rope_scaling = { type: 'yarn', factor: 4, original_max_position_embeddings: 64 }
  expect(modelOf({ rope_scaling }).spec.contextLength).toBe(256)
  expect(modelOf({}).spec.contextLength).toBe(64)
})
