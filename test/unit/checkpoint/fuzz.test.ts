/** Broken files of every kind: only typed refusals come out, quickly. Seeds make a failure repeatable. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openCheckpoint } from '../../../lib/checkpoint/index.js'
import { OctavoError, errorCodes } from '../../../lib/errors.js'
import { fileOf, headerOf, makeFolder, tinyConfig, tinyTensors } from './folders.js'
import { randomOf } from './random.js'

type Random = (below: number) => number

/** Values that a slip, another program or malice may put anywhere. */
const oddities: unknown[] = [
  null,
  true,
  '',
  'abc',
  '64',
  -1,
  0,
  1,
  2,
  3,
  7,
  0.5,
  1e9,
  1e308,
  -1e308,
  2 ** 31,
  2 ** 32,
  2 ** 53,
  2 ** 63,
  [],
  [1],
  [0, 4],
  [4, 0],
  ['x'],
  [null],
  {},
  { a: 1 },
  { rope_type: 'yarn' },
  { type: 'llama3', factor: 8 },
  'F64',
  'BF16',
  'sliding_attention',
  '__proto__',
  'x'.repeat(2000),
]

const extraKeys = [
  'head_dim',
  'rope_theta',
  'rope_scaling',
  'rope_parameters',
  'hidden_act',
  'attention_bias',
  'mlp_bias',
  'sliding_window',
  'use_sliding_window',
  'max_window_layers',
  'layer_types',
  'quantization_config',
  'text_config',
  'partial_rotary_factor',
  'original_max_position_embeddings',
  'eos_token_id',
  'bos_token_id',
  'dtype',
  '__proto__',
]

const families = ['LlamaForCausalLM', 'MistralForCausalLM', 'Qwen2ForCausalLM', 'Qwen3ForCausalLM']

function pick<T>(random: Random, list: readonly T[]): T {
  return list[random(list.length)]!
}

/** Replaces one value at a random depth. */
function mutate(random: Random, root: Record<string, unknown>, keys: readonly string[]): void {
  let object = root
  for (;;) {
    const key = pick(random, [...Object.keys(object), ...keys])
    const value = object[key]
    const inner = typeof value === 'object' && value !== null && !Array.isArray(value)
    if (!inner || random(4) === 0) {
      if (random(6) === 0) delete object[key]
      else
        Object.defineProperty(object, key, {
          value: pick(random, oddities),
          enumerable: true,
          configurable: true,
          writable: true,
        })
      return
    }
    object = value as Record<string, unknown>
  }
}

/** Changes bytes, cuts or repeats a piece. */
function damage(random: Random, bytes: Uint8Array): Uint8Array {
  const at = random(bytes.length)
  const end = Math.min(bytes.length, at + random(20))
  switch (random(4)) {
    case 0:
      return bytes.subarray(0, at)
    case 1:
      return Buffer.concat([bytes.subarray(0, end), bytes.subarray(at)])
    case 2:
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(end)])
    default: {
      const copy = Uint8Array.from(bytes)
      for (let i = 0; i <= random(3); i++) copy[random(copy.length)] = random(256)
      return copy
    }
  }
}

/** Opens the folder; a refusal must be ours, of a known code, with a readable sentence. */
async function outcome(folder: string, seed: number): Promise<string> {
  try {
    const { spec, manifest } = await openCheckpoint(folder)
    const inFile = manifest.entries.every(({ parts }) => parts.every(({ offset }) => offset > 8))
    const finite = spec.ropes.every(
      ({ inverseFrequencies, magnitude }) =>
        inverseFrequencies.every(Number.isFinite) && Number.isFinite(magnitude) && magnitude > 0,
    )
    if (!inFile || !finite) throw new Error('it opened with numbers that no runtime can use')
    return 'opened'
  } catch (error) {
    const ours = error instanceof OctavoError && errorCodes.includes(error.code)
    if (!ours || error.code === 'OCTAVO_INTERNAL')
      throw new Error(`seed ${seed}: ${String(error)}`, { cause: error })
    if (error.message.length > 1500)
      throw new Error(`seed ${seed}: a message of ${error.message.length} characters`)
    return error.code
  }
}

async function run(
  cases: number,
  write: (random: Random, folder: string) => void,
): Promise<Map<string, number>> {
  const folder = makeFolder()
  const outcomes = new Map<string, number>()
  for (let seed = 0; seed < cases; seed++) {
    write(randomOf(seed), folder)
    const found = await outcome(folder, seed)
    outcomes.set(found, (outcomes.get(found) ?? 0) + 1)
  }
  return outcomes
}

const whole = headerOf(tinyTensors())
const file = fileOf(JSON.stringify(whole.header), whole.dataBytes)

function writeConfig(folder: string, config: unknown): void {
  writeFileSync(
    join(folder, 'config.json'),
    typeof config === 'string' ? config : JSON.stringify(config),
  )
}

test('configs with odd values', async () => {
  const outcomes = await run(1200, (random, folder) => {
    const config = structuredClone({
      ...tinyConfig,
      architectures: [pick(random, families)],
    }) as Record<string, unknown>
    for (let i = 0; i <= random(3); i++) mutate(random, config, extraKeys)
    writeConfig(folder, config)
    writeFileSync(join(folder, 'model.safetensors'), file)
  })
  expect(outcomes.get('opened')).toBeGreaterThan(20)
  expect(outcomes.get('OCTAVO_CHECKPOINT_INVALID')).toBeGreaterThan(100)
  expect(outcomes.get('OCTAVO_CHECKPOINT_MISMATCH')).toBeGreaterThan(100)
  expect(outcomes.get('OCTAVO_UNSUPPORTED_MODEL')).toBeGreaterThan(20)
})

test('headers with odd values', async () => {
  const outcomes = await run(800, (random, folder) => {
    const header = structuredClone(whole.header) as Record<string, unknown>
    for (let i = 0; i <= random(2); i++) mutate(random, header, ['__metadata__', '__proto__', 'x'])
    writeConfig(folder, tinyConfig)
    writeFileSync(
      join(folder, 'model.safetensors'),
      fileOf(JSON.stringify(header), whole.dataBytes),
    )
  })
  expect(outcomes.get('OCTAVO_CHECKPOINT_INVALID')).toBeGreaterThan(500)
})

test('damaged bytes', async () => {
  const configText = Buffer.from(
    JSON.stringify({ ...tinyConfig, rope_scaling: { type: 'linear', factor: 2 } }),
  )
  const outcomes = await run(1200, (random, folder) => {
    const inHeader = file.subarray(0, file.length - whole.dataBytes)
    const damaged =
      random(2) === 0
        ? damage(random, file)
        : Buffer.concat([damage(random, inHeader), Buffer.alloc(whole.dataBytes)])
    const config = random(2) === 0
    writeFileSync(join(folder, 'config.json'), config ? damage(random, configText) : configText)
    writeFileSync(join(folder, 'model.safetensors'), config ? file : damaged)
  })
  expect(outcomes.get('OCTAVO_CHECKPOINT_INVALID')).toBeGreaterThan(500)
})

test('indexes with odd values', async () => {
  const shards = {
    weight_map: Object.fromEntries(
      Object.keys(tinyTensors()).map((name) => [name, 'a.safetensors']),
    ),
  }
  const places = [
    'a.safetensors',
    '../a.safetensors',
    '/etc/passwd',
    'b.safetensors',
    '',
    'sub',
    'config.json',
  ]
  const outcomes = await run(600, (random, folder) => {
    const index = structuredClone(shards) as { weight_map: Record<string, unknown> }
    if (random(3) > 0)
      index.weight_map[pick(random, Object.keys(index.weight_map))] = pick(random, places)
    else mutate(random, index, ['weight_map'])
    writeConfig(folder, tinyConfig)
    writeFileSync(join(folder, 'a.safetensors'), file)
    const text = Buffer.from(JSON.stringify(index))
    writeFileSync(
      join(folder, 'model.safetensors.index.json'),
      random(4) === 0 ? damage(random, text) : text,
    )
  })
  expect(outcomes.get('opened')).toBeGreaterThan(20)
  expect(outcomes.get('OCTAVO_CHECKPOINT_INVALID')).toBeGreaterThan(100)
})
