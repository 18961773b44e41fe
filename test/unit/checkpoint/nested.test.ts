/** config.json that nests thousands of levels: refused in a sentence, whichever key holds it. */
import { join } from 'node:path'
import { openCheckpoint } from '../../../lib/checkpoint/index.js'
import { readJson } from '../../../lib/checkpoint/json.js'
import { makeFolder, refusal, safetensorsOf, tinyConfig } from './folders.js'

const lists = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels)
const objects = (levels: number): string => '{"a":'.repeat(levels) + '1' + '}'.repeat(levels)

/** The tiny config with `text` as the value of a key. */
const configWith = (key: string, text: string): string =>
  JSON.stringify({ ...tinyConfig, [key]: 0 }).replace(`"${key}":0`, `"${key}":${text}`)

test.each([
  'hidden_size',
  'architectures',
  'model_type',
  'rope_scaling',
  'eos_token_id',
  'text_config',
  'no_key_we_know',
])('a deep "%s"', async (key) => {
  for (const value of [lists(20_000), objects(20_000)]) {
    const folder = makeFolder({
      'config.json': configWith(key, value),
      'model.safetensors': safetensorsOf({ a: { dtype: 'F32', shape: [2] } }),
    })
    await expect(openCheckpoint(folder)).rejects.toMatchObject(
      refusal('OCTAVO_CHECKPOINT_INVALID', 'config.json nests more than 100 levels deep'),
    )
  }
})

test('a deep quant_method', async () => {
  const method = `{"quant_method":${lists(20_000)}}`
  const folder = makeFolder({ 'config.json': configWith('quantization_config', method) })
  await expect(readJson(join(folder, 'config.json'))).rejects.toMatchObject(
    refusal('OCTAVO_CHECKPOINT_INVALID', 'nests more than 100 levels deep'),
  )
})

test('what nests within the bound is read', async () => {
  const folder = makeFolder({ 'config.json': configWith('x', lists(99)) })
  expect((await readJson(join(folder, 'config.json'))).has('x')).toBe(true)
  const deeper = makeFolder({ 'config.json': configWith('x', lists(101)) })
  await expect(readJson(join(deeper, 'config.json'))).rejects.toThrow(/levels deep/)
})
