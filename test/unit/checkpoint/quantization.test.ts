/** `quantization_config`: what is read, and what is refused with tensor, key and both numbers. */
import { openCheckpoint } from '../../../lib/checkpoint/index.js'
import type { Checkpoint } from '../../../lib/checkpoint/types.js'
import type { ErrorCode } from '../../../lib/errors.js'
import type { NativeQuantizedSource } from '../../../lib/native.js'
import { makeFolder, refusal, safetensorsOf } from './folders.js'
import {
  awq,
  fp8Blocks,
  fp8Static,
  gptq,
  int8,
  packed,
  quantizableConfig,
  quantizedFolder,
  quantizedTensors,
  type Format,
  type Tensors,
} from './quantized-folders.js'

const gptqConfig = { quant_method: 'gptq', bits: 4, group_size: 32, sym: true, desc_act: false }
const awqConfig = {
  quant_method: 'awq',
  bits: 4,
  group_size: 32,
  zero_point: true,
  version: 'gemm',
}
const fp8Config = {
  quant_method: 'fp8',
  activation_scheme: 'dynamic',
  weight_block_size: [128, 128],
}

/** A group of compressed-tensors; `weights` and `inputs` change it. */
function compressed(
  format: string,
  weights: object,
  inputs: object | null = null,
  more: object = {},
): object {
  const group = {
    targets: ['Linear'],
    weights: {
      num_bits: 4,
      type: 'int',
      symmetric: true,
      strategy: 'group',
      group_size: 32,
      ...weights,
    },
    input_activations: inputs,
    output_activations: null,
  }
  return {
    quant_method: 'compressed-tensors',
    format,
    config_groups: { group_0: group },
    ignore: ['lm_head'],
    quantization_status: 'compressed',
    ...more,
  }
}

const channels = { num_bits: 8, strategy: 'channel', group_size: null }
const perToken = { num_bits: 8, type: 'int', dynamic: true, strategy: 'token', symmetric: true }
const int8Config = compressed('int-quantized', channels, perToken)
const staticConfig = compressed(
  'float-quantized',
  { num_bits: 8, type: 'float', strategy: 'tensor', group_size: null },
  { num_bits: 8, type: 'float', dynamic: false, strategy: 'tensor', symmetric: true },
)

const sourceOf = ({ manifest }: Checkpoint, name: string, part = 0): NativeQuantizedSource | null =>
  manifest.entries.find((entry) => entry.name === `layers.0.${name}`)!.parts[part]!.quantized ??
  null

describe('reads', () => {
  test.each<[string, object, Format, Partial<NativeQuantizedSource>]>([
    [
      'gptq',
      gptqConfig,
      gptq(),
      { layout: 'gptq', codeType: 'u4', groupColumns: 32, zeroOffset: 1 },
    ],
    ['gptq_v2', { ...gptqConfig, checkpoint_format: 'gptq_v2' }, gptq(), { zeroOffset: 0 }],
    ['format', { ...gptqConfig, format: 'gptq_v2' }, gptq(), { zeroOffset: 0 }],
    ['3 bits', { ...gptqConfig, bits: 3 }, gptq(3), { codeType: 'u3' }],
    ['2 bits', { ...gptqConfig, bits: 2 }, gptq(2), { codeType: 'u2' }],
    ['whole rows', { ...gptqConfig, bits: 8, group_size: -1 }, gptq(8, -1), { groupColumns: 64 }],
    ['groups beyond a row', { ...gptqConfig, group_size: 128 }, gptq(4, 128), { groupColumns: 64 }],
    ['awq', awqConfig, awq(), { layout: 'awq', codeType: 'u4', groupRows: 1, zeroOffset: 0 }],
    ['GEMM', { ...awqConfig, version: 'GEMM' }, awq(), { layout: 'awq' }],
    [
      'pack-quantized',
      compressed('pack-quantized', {}),
      packed(),
      { layout: 'rows', codeType: 'u4' },
    ],
    [
      'int8',
      int8Config,
      int8,
      { codeType: 'i8', groupColumns: 64, activations: { scaling: 'token', group: 0 } },
    ],
    [
      'static fp8',
      staticConfig,
      fp8Static,
      { codeType: 'e4m3', groupRows: 64, activations: { scaling: 'static', group: 0 } },
    ],
    [
      'fp8 blocks',
      fp8Config,
      fp8Blocks,
      { codeType: 'e4m3', activations: { scaling: 'group', group: 128 } },
    ],
    ['naive-quantized', compressed('naive-quantized', channels), int8, { codeType: 'i8' }],
  ])('%s', async (_, config, format, expected) => {
    const checkpoint = await openCheckpoint(quantizedFolder(config, format))
    expect(sourceOf(checkpoint, 'attention.output')).toMatchObject(expected)
    expect(checkpoint.dtype).toBe('bf16')
    expect(checkpoint.parameters).toBe(11 * 64 * 2 + 3 * 64 + 4 * 64 * 48 + 3 * 96 * 64)
  })

  test('what a legacy file says', async () => {
    const old = { w_bit: 4, q_group_size: 32, zero_point: true, version: 'GEMM' }
    const folder = quantizedFolder(null, awq(), undefined, { 'quant_config.json': old })
    expect((await openCheckpoint(folder)).quantization).toBe('awq')
    const { quant_method: _, ...legacy } = gptqConfig
    const other = quantizedFolder(null, gptq(), undefined, { 'quantize_config.json': legacy })
    expect((await openCheckpoint(other)).quantization).toBe('gptq')
  })

  test('plain layers among quantised ones, by rule or by their tensors', async () => {
    const plain = (tensors: Tensors, layer: string, shape: number[]): void => {
      for (const name of Object.keys(gptq()(8, 8)))
        delete tensors[`model.layers.0.${layer}.${name}`]
      tensors[`model.layers.0.${layer}.weight`] = { dtype: 'BF16', shape }
    }
    const dynamic = {
      '-:.*down_proj': {},
      '+:.*v_proj': { bits: 8, group_size: -1 },
      'model\\.layers\\.0\\.mlp\\.up': { group_size: 16 },
    }
    const folder = quantizedFolder({ ...gptqConfig, dynamic }, gptq(), (tensors) => {
      plain(tensors, 'mlp.down_proj', [64, 96])
      plain(tensors, 'self_attn.o_proj', [64, 64])
      for (const [name, tensor] of Object.entries(gptq(8, -1)(32, 64))) {
        tensors[`model.layers.0.self_attn.v_proj.${name}`] = tensor
      }
      for (const [name, tensor] of Object.entries(gptq(4, 16)(96, 64))) {
        tensors[`model.layers.0.mlp.up_proj.${name}`] = tensor
      }
    })
    const checkpoint = await openCheckpoint(folder)
    expect(sourceOf(checkpoint, 'mlp.down')).toBeNull()
    expect(sourceOf(checkpoint, 'attention.output')).toBeNull()
    expect(sourceOf(checkpoint, 'attention.qkv', 0)).toMatchObject({ codeType: 'u4' })
    expect(sourceOf(checkpoint, 'attention.qkv', 2)).toMatchObject({
      codeType: 'u8',
      groupColumns: 64,
    })
    expect(sourceOf(checkpoint, 'mlp.gateUp', 1)).toMatchObject({
      codeType: 'u4',
      groupColumns: 16,
    })
  })

  test('the most precise target of compressed-tensors', async () => {
    const group = (targets: string[], size: number): object => ({
      targets,
      weights: { num_bits: 4, type: 'int', symmetric: true, strategy: 'group', group_size: size },
    })
    const config_groups = {
      a: group(['Linear'], 32),
      b: group(['re:.*up_proj$'], 16),
      c: group(['model.layers.0.mlp.up_proj'], 64),
      d: group(['re:.*down_proj$'], 16),
    }
    const config = compressed('pack-quantized', {}, null, { config_groups })
    const folder = quantizedFolder(config, packed(), (tensors) => {
      tensors['model.layers.0.mlp.up_proj.weight_scale']!.shape = [96, 1]
      tensors['model.layers.0.mlp.down_proj.weight_scale']!.shape = [64, 6]
    })
    const checkpoint = await openCheckpoint(folder)
    expect(sourceOf(checkpoint, 'mlp.gateUp', 0)).toMatchObject({ groupColumns: 32 })
    expect(sourceOf(checkpoint, 'mlp.gateUp', 1)).toMatchObject({ groupColumns: 64 })
    expect(sourceOf(checkpoint, 'mlp.down')).toMatchObject({ groupColumns: 16 })
  })

  test('a head of codes, which unties it', async () => {
    const config = { ...quantizableConfig, vocab_size: 64, quantization_config: gptqConfig }
    const { tie_word_embeddings: _, ...silent } = config
    const tensors = quantizedTensors(gptq(), (all) => {
      all['model.embed_tokens.weight']!.shape = [64, 64]
      delete all['lm_head.weight']
      for (const [name, tensor] of Object.entries(gptq()(64, 64))) all[`lm_head.${name}`] = tensor
    })
    const files = { 'config.json': silent, 'model.safetensors': safetensorsOf(tensors) }
    const { spec, manifest } = await openCheckpoint(makeFolder(files))
    expect(spec.tiedEmbeddings).toBe(false)
    const head = manifest.entries.find(({ name }) => name === 'head')!
    expect(head.parts[0]!.quantized).toMatchObject({ codeType: 'u4', rows: 64, columns: 64 })
  })

  test('scales of an eight-bit cache are not used', async () => {
    const config = compressed('pack-quantized', {}, null, { kv_cache_scheme: { num_bits: 8 } })
    const folder = quantizedFolder(config, packed(), (tensors) => {
      tensors['model.layers.0.self_attn.k_scale'] = { dtype: 'BF16', shape: [1] }
    })
    const { ignoredTensors } = await openCheckpoint(folder)
    expect(ignoredTensors).toEqual(['model.layers.0.self_attn.k_scale'])
  })
})

const up = 'model.layers.0.mlp.up_proj'

/** Config, tensors, what spoils them, and the refusal. */
const refused: [object, Format, (tensors: Tensors) => void, ErrorCode, string][] = []
const same = (): void => undefined

function refuseConfig(config: object, code: ErrorCode, part: string, format = gptq()): void {
  refused.push([config, format, same, code, part])
}

const unsupported = 'OCTAVO_UNSUPPORTED_MODEL'
const invalid = 'OCTAVO_CHECKPOINT_INVALID'
const mismatch = 'OCTAVO_CHECKPOINT_MISMATCH'
refuseConfig(
  { quant_method: 'bitsandbytes' },
  unsupported,
  'quant_method" is "bitsandbytes"; octavo runs',
)
refuseConfig({ bits: 4 }, invalid, '"quantization_config.quant_method" must be')
refuseConfig({ quant_method: 7 }, invalid, '"quantization_config.quant_method" must be a string')
refuseConfig({ ...gptqConfig, bits: 5 }, unsupported, '"quantization_config.bits" is 5')
refuseConfig({ ...gptqConfig, bits: 'four' }, invalid, '"quantization_config.bits" must be')
refuseConfig(
  { ...gptqConfig, group_size: 48 },
  unsupported,
  'group_size" is 48; octavo runs 16, 32',
)
refuseConfig({ ...gptqConfig, group_size: 0 }, unsupported, 'group_size" is 0')
refuseConfig({ ...gptqConfig, group_size: -2 }, invalid, 'group_size" must be')
refuseConfig({ ...gptqConfig, group_size: null }, invalid, 'group_size" must be')
refuseConfig({ ...gptqConfig, checkpoint_format: 'marlin' }, unsupported, 'is "marlin"')
refuseConfig({ ...gptqConfig, pack_dtype: 'int16' }, unsupported, 'pack_dtype" is "int16"')
refuseConfig({ ...gptqConfig, dynamic: { '+:(': {} } }, invalid, 'is not a regular expression')
refuseConfig(
  { ...gptqConfig, dynamic: { '-:([a-z_.0-9]+)+!': {} } },
  invalid,
  'which was not done with',
)
refuseConfig({ ...gptqConfig, dynamic: { '+:.*': { bits: 6 } } }, unsupported, '.bits" is 6')
refuseConfig({ ...gptqConfig, dynamic: { '+:.*': 3 } }, invalid, 'must be an object')
refuseConfig({ ...awqConfig, bits: 3 }, unsupported, 'bits" is 3', awq())
refuseConfig({ ...awqConfig, version: 'gemv' }, unsupported, 'version" is "gemv"', awq())
refuseConfig({ ...awqConfig, zero_point: false }, unsupported, 'zero_point" is false', awq())
refuseConfig({ ...fp8Config, fmt: 'e5m2' }, unsupported, 'fmt" is "e5m2"', fp8Blocks)
refuseConfig(
  { ...fp8Config, activation_scheme: 'static' },
  unsupported,
  'activation_scheme',
  fp8Blocks,
)
refuseConfig(
  { ...fp8Config, weight_block_size: [128] },
  invalid,
  'two positive integers',
  fp8Blocks,
)
refuseConfig({ ...fp8Config, weight_block_size: [8, 9] }, unsupported, 'is [8, 9]', fp8Blocks)
refuseConfig(compressed('marlin-24', {}), unsupported, 'format" is "marlin-24"', packed())
refuseConfig(compressed('pack-quantized', { num_bits: 3 }), unsupported, 'num_bits" is 3', packed())
refuseConfig(
  compressed('pack-quantized', { type: 'float' }),
  unsupported,
  'type" is "float"',
  packed(),
)
refuseConfig(
  compressed('pack-quantized', { strategy: 'token' }),
  unsupported,
  'is "token"',
  packed(),
)
refuseConfig(
  compressed('pack-quantized', {}, perToken),
  unsupported,
  'input_activations" is set',
  packed(),
)
refuseConfig(
  compressed('int-quantized', { ...channels, symmetric: false }),
  unsupported,
  'symmetric"',
  int8,
)
refuseConfig(
  compressed('int-quantized', channels, { ...perToken, symmetric: false }),
  ...([unsupported, 'input_activations.symmetric" is false', int8] as const),
)
refuseConfig(
  compressed('int-quantized', channels, { ...perToken, num_bits: 4 }),
  ...([unsupported, 'input_activations.num_bits" is 4', int8] as const),
)
refuseConfig(
  compressed('int-quantized', channels, null, { transform_config: { config_groups: {} } }),
  ...([unsupported, 'transform_config" is not empty', int8] as const),
)
refuseConfig(
  compressed('int-quantized', channels, null, { quantization_status: 'frozen' }),
  ...([unsupported, 'quantization_status" is "frozen"', int8] as const),
)
refuseConfig(
  compressed('x', {}, null, { config_groups: {} }),
  invalid,
  'config_groups" must be',
  packed(),
)
refuseConfig(
  { ...awqConfig, modules_to_not_convert: ['mlp.up_proj'] },
  ...([mismatch, `leaves "${up}" as it is, but the files hold "${up}.qweight"`, awq()] as const),
)

const spoiled: [object, Format, string, (tensor: Tensors[string]) => void, ErrorCode, string][] = [
  [gptqConfig, gptq(), 'qweight', (t) => (t.shape = [7, 96]), mismatch, 'has shape [7, 96]'],
  [gptqConfig, gptq(), 'qweight', (t) => (t.shape = [7, 96]), mismatch, '[8, 96]'],
  [gptqConfig, gptq(), 'qweight', (t) => (t.dtype = 'I64'), unsupported, 'is I64'],
  [
    gptqConfig,
    gptq(),
    'scales',
    (t) => (t.shape = [3, 96]),
    mismatch,
    'has shape [3, 96], gptq of 4 bits',
  ],
  [gptqConfig, gptq(), 'scales', (t) => (t.dtype = 'I32'), unsupported, 'is I32'],
  [gptqConfig, gptq(), 'qzeros', (t) => (t.shape = [2, 13]), mismatch, '[2, 12]'],
  [gptqConfig, gptq(), 'g_idx', (t) => (t.shape = [63]), mismatch, 'has shape [63]'],
  [awqConfig, awq(), 'qweight', (t) => (t.shape = [8, 96]), mismatch, '[64, 12]'],
  [
    compressed('pack-quantized', {}),
    packed(),
    'weight_packed',
    (t) => (t.shape = [96, 7]),
    mismatch,
    '[96, 8]',
  ],
  [fp8Config, fp8Blocks, 'weight_scale_inv', (t) => (t.shape = [2, 1]), mismatch, '[1, 1]'],
  [int8Config, int8, 'weight', (t) => (t.dtype = 'F8_E4M3'), unsupported, 'is F8_E4M3'],
  [staticConfig, fp8Static, 'input_scale', (t) => (t.shape = [2]), mismatch, 'has shape [2]'],
]
for (const [config, format, tensor, spoil, code, part] of spoiled) {
  const change = (tensors: Tensors): void => spoil(tensors[`${up}.${tensor}`]!)
  refused.push([config, format, change, code, part])
  refused.push([config, format, change, code, `"${up}.${tensor}" in model.safetensors`])
}

const missing: [object, Format, string[], string][] = [
  [gptqConfig, gptq(), ['scales'], `1 of 26 tensors is missing: ${up}.scales`],
  [gptqConfig, gptq(), ['qweight'], `${up}.qweight`],
  [gptqConfig, gptq(), ['qzeros', 'scales'], '2 of 26 tensors are missing'],
  [fp8Config, fp8Blocks, ['weight_scale_inv'], `${up}.weight_scale_inv or ${up}.weight_scale`],
  [staticConfig, fp8Static, ['input_scale'], `${up}.input_scale`],
  [int8Config, int8, ['weight_scale'], `${up}.weight_scale`],
]
for (const [config, format, names, part] of missing) {
  const change = (tensors: Tensors): void => {
    for (const name of names) delete tensors[`${up}.${name}`]
  }
  refused.push([config, format, change, mismatch, part])
}

test.each(refused)('refuses %j', async (config, format, change, code, part) => {
  const folder = quantizedFolder(config, format, change)
  await expect(openCheckpoint(folder)).rejects.toMatchObject(refusal(code, part))
})

test('codes without a config are no weights', async () => {
  const folder = quantizedFolder(null, fp8Blocks)
  await expect(openCheckpoint(folder)).rejects.toMatchObject(refusal(unsupported, 'is F8_E4M3'))
})
