/** Dummy weights: every format, finite logits, the plan held to the byte, nothing left. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Engine, type EngineOptions, type LoadProgress } from '../../../lib/index.js'
import { openCheckpoint } from '../../../lib/checkpoint/index.js'
import { refusal } from '../../refusal.js'
import { expectNothingLive, root, stories } from './support.js'

const configs = join(root, 'scripts', 'bench', 'configs')
const packed = (
  JSON.parse(readFileSync(join(configs, 'llama-3.1-8b-w4a16', 'config.json'), 'utf8')) as {
    quantization_config: object
  }
).quantization_config

const small = {
  architectures: ['LlamaForCausalLM'],
  ...{ hidden_size: 128, intermediate_size: 256, num_hidden_layers: 3, vocab_size: 400 },
  ...{ num_attention_heads: 4, num_key_value_heads: 2, max_position_embeddings: 1024 },
  ...{ rms_norm_eps: 1e-5, torch_dtype: 'bfloat16', eos_token_id: 2 },
}

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'octavo-dummy-'))
})
afterEach(() => {
  rmSync(folder, { recursive: true })
  expectNothingLive()
})

const write = (config: object): void =>
  writeFileSync(join(folder, 'config.json'), JSON.stringify({ ...small, ...config }))

function load(options: EngineOptions = {}): Promise<Engine> {
  const memory = { limit: 2 ** 28, kv: 2 ** 22, ...options.memory }
  const common = { device: 'cpu', threads: 2, maxSequences: 4, maxBatchTokens: 64 }
  return Engine.load(folder, { ...common, loadFormat: 'dummy', ...options, memory })
}

const fp8 = { quant_method: 'fp8', activation_scheme: 'dynamic' }
const formats: [name: string, method: string | null, config: object][] = [
  ['bf16', null, {}],
  ['fp16, tied', null, { torch_dtype: 'float16', tie_word_embeddings: true }],
  ['fp32 with biases', null, { dtype: 'float32', attention_bias: true, mlp_bias: true }],
  ['norms of heads', null, { architectures: ['Qwen3ForCausalLM'], head_dim: 32 }],
  ['W4A16', 'compressed-tensors', { quantization_config: packed }],
  ['fp8 a tensor', 'fp8', { quantization_config: fp8 }],
  ['fp8 static', 'fp8', { quantization_config: { ...fp8, activation_scheme: 'static' } }],
  ['fp8 blocks', 'fp8', { quantization_config: { ...fp8, weight_block_size: [64, 64] } }],
  ...[2, 3, 4, 8].map((bits): [string, string, object] => [
    `gptq of ${bits} bits`,
    'gptq',
    { quantization_config: { quant_method: 'gptq', bits, group_size: 64 } },
  ]),
  ['awq', 'awq', { quantization_config: { quant_method: 'awq', bits: 4, group_size: 64 } }],
]

test.each(formats)(
  '%s: logits near 1, planned as held, generating ids',
  async (_, method, config) => {
    write(config)
    await using engine = await load()
    expect(engine.model).toMatchObject({ quantization: method, loadFormat: 'dummy' })
    expect(engine.tokenizer).toBeNull()
    expect(engine.memory({ audit: true }).regions.weights.allocatedBytes).toBe(
      engine.plan().regions.weights,
    )
    const { data } = await engine.logits([1, 2, 3, 4, 5, 6, 7, 8])
    const rms = Math.sqrt(data.reduce((sum, value) => sum + value ** 2, 0) / data.length)
    expect(rms).toBeGreaterThan(0.5)
    expect(rms).toBeLessThan(2)
    using session = engine.createSession()
    const run = session.generate([5, 6, 7], { maxNewTokens: 6, ignoreEos: true })
    const { tokens, text } = await run.result
    expect([tokens.length, text]).toEqual([6, ''])
    expect(() => session.generate('text')).toThrow(refusal('OCTAVO_NO_TOKENIZER'))
    engine.check()
  },
)

test('a seed decides the weights, whatever the threads', async () => {
  write({})
  const logits = async (options: EngineOptions): Promise<number[]> => {
    await using engine = await load(options)
    return [...(await engine.logits([3, 1, 4])).data]
  }
  const first = await logits({})
  expect(await logits({ dummySeed: 0, threads: 1 })).toEqual(first)
  expect(await logits({ dummySeed: 1 })).not.toEqual(first)
})

test('the plan is that of the files, but for what loading takes', async () => {
  const options = { assume: { total: 2 ** 30 }, maxSequences: 4 }
  const files = await Engine.plan(stories, options)
  const dummy = await Engine.plan(stories, { ...options, loadFormat: 'dummy' })
  expect(dummy.items).toEqual(files.items)
  expect(dummy.kv).toEqual(files.kv)
  expect(dummy.loading).toEqual([])
})

test.each([
  ['llama-3.1-8b', 8_030_261_248, 16_060_522_496],
  ['qwen3-8b', 8_190_735_360, 16_381_470_720],
])('%s has the parameters and bytes that are published', async (name, parameters, weightBytes) => {
  const checkpoint = await openCheckpoint(join(configs, name), { dummySeed: 0 })
  expect(checkpoint).toMatchObject({ parameters, weightBytes, dtype: 'bf16', isDummy: true })
  const plan = await Engine.plan(join(configs, name), {
    loadFormat: 'dummy',
    assume: { total: 80 * 2 ** 30 },
  })
  expect(plan.fits).toBe(true)
})

test.each([
  // 4 bits a weight and 16 a group of 128 of the linear layers, embedding and head plain; 8 bits and a scale a matrix.
  ['llama-3.1-8b-w4a16', 6_979_321_856 * (4.125 / 8) + 1_050_939_392 * 2, 'compressed-tensors'],
  ['llama-3.1-8b-fp8', 6_979_321_856 + 7 * 32 * 4 + 1_050_939_392 * 2, 'fp8'],
])('%s is as large as its format says', async (name, weightBytes, quantization) => {
  const checkpoint = await openCheckpoint(join(configs, name), { dummySeed: 0 })
  expect(checkpoint).toMatchObject({ parameters: 8_030_261_248, weightBytes, quantization })
})

test.each([
  ['deepseek-v2-lite', 'DeepseekV2ForCausalLM'],
  ['qwen3-30b-a3b', 'Qwen3MoeForCausalLM'],
])('%s is refused by its architecture', async (name, architecture) => {
  const options = { loadFormat: 'dummy', assume: { total: 2 ** 38 } } as const
  const refused = refusal('OCTAVO_UNSUPPORTED_MODEL', `the model is of "${architecture}"`)
  await expect(Engine.plan(join(configs, name), options)).rejects.toEqual(refused)
})

test('progress reaches every byte; an abort and a limit give everything back', async () => {
  write({})
  const seen: LoadProgress[] = []
  const engine = await load({ onProgress: (progress) => seen.push(progress) })
  engine.dispose()
  const last = seen.at(-1)!
  expect(last.doneBytes).toBe(last.totalBytes)
  const stop = new AbortController()
  const aborted = load({ signal: stop.signal, onProgress: () => stop.abort(new Error('enough')) })
  await expect(aborted).rejects.toThrow('enough')
  const refused = refusal('OCTAVO_OUT_OF_MEMORY', 'weights')
  await expect(load({ memory: { limit: 2 ** 16 } })).rejects.toEqual(refused)
})

test('what cannot be a dummy is refused by name', async () => {
  write({ torch_dtype: 'float8_e4m3fn' })
  const dtype = refusal('OCTAVO_UNSUPPORTED_MODEL', '"torch_dtype" is "float8_e4m3fn"')
  await expect(load()).rejects.toEqual(dtype)
  const format = refusal('OCTAVO_INVALID_ARGUMENT', 'loadFormat is "dumy"')
  await expect(load({ loadFormat: 'dumy' as 'dummy' })).rejects.toEqual(format)
  const seed = refusal('OCTAVO_INVALID_ARGUMENT', 'dummySeed is 3')
  await expect(load({ loadFormat: 'files', dummySeed: 3 })).rejects.toEqual(seed)
  const files = refusal('OCTAVO_IO_FAILED', 'no model.safetensors')
  await expect(load({ loadFormat: 'files' })).rejects.toEqual(files)
})
