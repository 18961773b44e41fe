import { join } from 'node:path'
import { openCheckpoint } from '../../../lib/checkpoint/index.js'
import {
  makeFolder,
  refusal,
  safetensorsOf,
  tinyConfig,
  tinyFolder,
  tinyTensors,
  type TensorOf,
} from './folders.js'

const models = join(__dirname, '..', '..', '..', 'models')

test('stories260k: spec, manifest and sums', async () => {
  const checkpoint = await openCheckpoint(join(models, 'stories260k'))
  const { spec, manifest, ...rest } = checkpoint
  expect(rest).toEqual({
    folder: join(models, 'stories260k'),
    architecture: 'LlamaForCausalLM',
    quantization: null,
    dtype: 'fp32',
    weightBytes: 1_040_128,
    parameters: 260_032,
    bosTokenId: 1,
    eosTokenIds: [1, 2],
    generation: { greedy: true },
    isDummy: false,
    ignoredTensors: [],
  })
  expect(spec).toMatchObject({
    family: 'llama',
    vocabularySize: 512,
    hiddenSize: 64,
    contextLength: 512,
  })
  expect(spec).toMatchObject({ sampledVocabulary: 512, normEpsilon: 1e-5, tiedEmbeddings: true })
  expect(spec.layers).toHaveLength(5)
  expect(spec.layers[4]).toEqual({
    attention: {
      heads: 8,
      kvHeads: 4,
      headDim: 8,
      scale: 8 ** -0.5,
      window: 0,
      rope: 0,
      qkvBias: false,
      outputBias: false,
      queryKeyNorm: false,
    },
    mlp: { intermediateSize: 172, bias: false },
  })
  expect(manifest.files).toEqual([join(models, 'stories260k', 'model.safetensors')])
  const ranges = manifest.entries.flatMap(({ parts }) => parts)
  expect(ranges.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(1_040_128)
  expect(Math.max(...ranges.map(({ offset, bytes }) => offset + bytes))).toBe(1_044_992)
})

test('parts are the rows of q, k, v and of gate, up, in that order', async () => {
  const { manifest } = await openCheckpoint(tinyFolder())
  const shapes = manifest.entries.map(({ name, parts }) => [name, parts.map(({ shape }) => shape)])
  expect(shapes).toEqual([
    ['embedding', [[11, 8]]],
    ['layers.0.attention.norm', [[8]]],
    [
      'layers.0.attention.qkv',
      [
        [8, 8],
        [4, 8],
        [4, 8],
      ],
    ],
    ['layers.0.attention.output', [[8, 8]]],
    ['layers.0.mlp.norm', [[8]]],
    [
      'layers.0.mlp.gateUp',
      [
        [12, 8],
        [12, 8],
      ],
    ],
    ['layers.0.mlp.down', [[8, 12]]],
    ['finalNorm', [[8]]],
    ['head', [[11, 8]]],
  ])
})

test('sampledVocabulary: the tokenizer may know fewer ids than the embedding has rows, not more', async () => {
  const folder = tinyFolder()
  expect((await openCheckpoint(folder, { sampledVocabulary: 9 })).spec.sampledVocabulary).toBe(9)
  const sentence = 'the tokenizer knows 12 ids, but the embedding has 11 rows'
  const invalid = refusal('OCTAVO_TOKENIZER_INVALID', sentence)
  await expect(openCheckpoint(folder, { sampledVocabulary: 12 })).rejects.toMatchObject(invalid)
  for (const sampledVocabulary of [0, -1, 1.5, NaN]) {
    const argument = refusal(
      'OCTAVO_INVALID_ARGUMENT',
      'sampledVocabulary must be a positive integer',
    )
    await expect(openCheckpoint(folder, { sampledVocabulary })).rejects.toMatchObject(argument)
  }
})

type Change = (tensors: Record<string, TensorOf>) => void
const layer = 'model.layers.0'
const query = `${layer}.self_attn.q_proj`

test.each<[string, object, Change]>([
  ['1 of 12 tensors is missing: model.norm.weight', {}, (t) => delete t['model.norm.weight']],
  ['1 of 12 tensors is missing: lm_head.weight', {}, (t) => delete t['lm_head.weight']],
  [
    '9 of 21 tensors are missing: model.layers.1.input_layernorm.weight, model.layers.1.',
    { num_hidden_layers: 2 },
    () => undefined,
  ],
  [
    '3 of 15 tensors are missing: model.layers.0.self_attn.q_proj.bias',
    { architectures: ['Qwen2ForCausalLM'] },
    () => undefined,
  ],
  [
    `1 tensor of the files has no place in the model that config.json describes: ${query}.bias`,
    {},
    (t) => (t[`${query}.bias`] = { dtype: 'F32', shape: [8] }),
  ],
  [
    'has no place in the model that config.json describes: model.layers.1.mlp.up_proj.weight',
    {},
    (t) => (t['model.layers.1.mlp.up_proj.weight'] = { dtype: 'F32', shape: [12, 8] }),
  ],
  [
    `"${query}.weight" in model.safetensors has shape [8, 9], the config makes it [8, 8]`,
    {},
    (t) => (t[`${query}.weight`] = { dtype: 'F32', shape: [8, 9] }),
  ],
  [
    '"model.norm.weight" in model.safetensors has shape [1, 8], the config makes it [8]',
    {},
    (t) => (t['model.norm.weight'] = { dtype: 'F32', shape: [1, 8] }),
  ],
  ['has shape [11, 8], the config makes it [12, 8]', { vocab_size: 12 }, () => undefined],
  [
    'has shape [40 dimensions], the config',
    {},
    (t) => (t['model.norm.weight'] = { dtype: 'F32', shape: Array<number>(40).fill(1) }),
  ],
  [
    'the tensors of layers.0.attention.qkv have different dtypes: fp16, fp32',
    {},
    (t) => (t[`${query}.weight`]!.dtype = 'F16'),
  ],
])('%s', async (sentence, config, change) => {
  const problem = refusal('OCTAVO_CHECKPOINT_MISMATCH', sentence)
  await expect(openCheckpoint(tinyFolder(config, change))).rejects.toMatchObject(problem)
})

test.each(['F8_E4M3', 'F64', 'I32'])('weights of dtype %s are not supported', async (dtype) => {
  const folder = tinyFolder({}, (tensors) => (tensors[`${query}.weight`]!.dtype = dtype))
  const sentence = `"${query}.weight" in model.safetensors is ${dtype}; octavo runs F32, BF16 and F16`
  await expect(openCheckpoint(folder)).rejects.toMatchObject(
    refusal('OCTAVO_UNSUPPORTED_MODEL', sentence),
  )
})

test('dtype is that of most matrix bytes, whatever the norms are', async () => {
  const mixed = tinyFolder({}, (tensors) => {
    for (const tensor of Object.values(tensors)) if (tensor.shape.length > 1) tensor.dtype = 'BF16'
  })
  expect(await openCheckpoint(mixed)).toMatchObject({
    dtype: 'bf16',
    weightBytes: 2 * 656 + 4 * 24,
    parameters: 680,
  })
})

test('a tied head and computed buffers are ignored and reported', async () => {
  const buffer = `${layer}.self_attn.rotary_emb.inv_freq`
  const folder = tinyFolder({ tie_word_embeddings: true }, (tensors) => {
    tensors[buffer] = { dtype: 'F32', shape: [2] }
  })
  const checkpoint = await openCheckpoint(folder)
  expect(checkpoint.spec.tiedEmbeddings).toBe(true)
  expect(checkpoint.ignoredTensors.sort()).toEqual(['lm_head.weight', buffer])
  expect(checkpoint.manifest.entries.some(({ name }) => name === 'head')).toBe(false)
})

test.each<[string, (plain: string) => string]>([
  ['language_model.', (plain) => `language_model.${plain}`],
  ['model.language_model.', (plain) => plain.replace(/^model\./, 'model.language_model.')],
])('a multimodal wrapper with prefix %s loads its language model', async (_, rename) => {
  const plain = Object.entries(tinyTensors())
  const tensors = Object.fromEntries(plain.map(([name, tensor]) => [rename(name), tensor]))
  tensors['vision_tower.patch.weight'] = { dtype: 'F32', shape: [3] }
  const wrapper = { architectures: ['LlavaForConditionalGeneration'], text_config: tinyConfig }
  const folder = makeFolder({ 'config.json': wrapper, 'model.safetensors': safetensorsOf(tensors) })
  const checkpoint = await openCheckpoint(folder)
  expect(checkpoint).toMatchObject({
    architecture: 'LlavaForConditionalGeneration',
    ignoredTensors: ['vision_tower.patch.weight'],
  })
  expect(checkpoint.spec.family).toBe('llama')
  expect(checkpoint.parameters).toBe(680)
})

test('defaults and end tokens come from generation_config.json', async () => {
  const generation = { do_sample: true, temperature: 0.6, eos_token_id: [3, 4] }
  const folder = tinyFolder({ eos_token_id: 2, bos_token_id: 1 }, undefined, {
    'generation_config.json': generation,
  })
  const checkpoint = await openCheckpoint(folder)
  expect(checkpoint).toMatchObject({
    eosTokenIds: [3, 4, 2],
    bosTokenId: 1,
    generation: { greedy: false, temperature: 0.6 },
  })
})

test('missing and wrong places', async () => {
  const missing = refusal('OCTAVO_IO_FAILED', 'it does not exist')
  await expect(openCheckpoint('/no/such/folder')).rejects.toMatchObject(missing)
  const noConfig = makeFolder({ 'model.safetensors': safetensorsOf(tinyTensors()) })
  await expect(openCheckpoint(noConfig)).rejects.toMatchObject(
    refusal('OCTAVO_IO_FAILED', 'config.json: it does not exist'),
  )
  const file = refusal('OCTAVO_IO_FAILED', 'is a file; give the folder')
  await expect(openCheckpoint(join(noConfig, 'model.safetensors'))).rejects.toMatchObject(file)
  await expect(openCheckpoint('a\0b')).rejects.toMatchObject({ code: 'OCTAVO_IO_FAILED' })
  const gguf = refusal('OCTAVO_UNSUPPORTED_MODEL', 'not GGUF')
  await expect(openCheckpoint(makeFolder({ 'm.gguf': 'GGUF' }))).rejects.toMatchObject(gguf)
})

test('an aborted signal cancels', async () => {
  const cancelled = { code: 'OCTAVO_CANCELLED' }
  const folder = tinyFolder()
  await expect(openCheckpoint(folder, { signal: AbortSignal.abort('why') })).rejects.toMatchObject({
    ...cancelled,
    cause: 'why',
  })
  const controller = new AbortController()
  const opening = openCheckpoint(folder, { signal: controller.signal })
  controller.abort()
  await expect(opening).rejects.toMatchObject(cancelled)
})

test.each<[object, string]>([
  [{ max_position_embeddings: 2 ** 27 + 1 }, '"max_position_embeddings" must be an integer of at'],
  [{ rms_norm_eps: 1e-60 }, '"rms_norm_eps" must be a number above 0 and at most 1 in fp32'],
  [{ num_hidden_layers: 4097 }, '"num_hidden_layers" must be an integer of at most 4096'],
  [{ num_attention_heads: 4098 }, '"num_attention_heads" must be an integer of at most 4096'],
  [{ vocab_size: 2 ** 24 + 1 }, '"vocab_size" must be an integer of at most 16777216'],
  [{ hidden_size: 2 ** 18 + 2 }, '"hidden_size" must be an integer of at most 262144'],
])('%j is past what the runtime takes', async (config, sentence) => {
  const problem = refusal('OCTAVO_CHECKPOINT_INVALID', sentence)
  await expect(openCheckpoint(tinyFolder(config))).rejects.toMatchObject(problem)
})

test('an end token past the vocabulary', async () => {
  const problem = refusal(
    'OCTAVO_CHECKPOINT_MISMATCH',
    'config.json: "eos_token_id" is 11, but the vocabulary has 11 ids',
  )
  await expect(openCheckpoint(tinyFolder({ eos_token_id: 11 }))).rejects.toMatchObject(problem)
})
