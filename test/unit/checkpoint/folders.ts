/** Temporary checkpoint folders, byte for byte as a test wants them. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ErrorCode } from '../../../lib/errors.js'

const folders: string[] = []

/** A new folder with these files; removed after the test file. Objects are written as JSON. */
export function makeFolder(files: Record<string, Uint8Array | string | object> = {}): string {
  const folder = mkdtempSync(join(tmpdir(), 'octavo-checkpoint-'))
  folders.push(folder)
  for (const [name, content] of Object.entries(files)) {
    const raw = typeof content === 'string' || content instanceof Uint8Array
    writeFileSync(join(folder, name), raw ? content : JSON.stringify(content))
  }
  return folder
}

afterAll(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

export interface TensorOf {
  dtype: string
  shape: number[]
}

const elementBytes: Record<string, number> = {
  F32: 4,
  BF16: 2,
  F16: 2,
  I64: 8,
  I32: 4,
  F64: 8,
  F8_E4M3: 1,
  I8: 1,
}

/** A header of tensors laid end to end. */
export function headerOf(tensors: Record<string, TensorOf>): { header: object; dataBytes: number } {
  let end = 0
  const header = Object.fromEntries(
    Object.entries(tensors).map(([name, { dtype, shape }]) => {
      const begin = end
      end += shape.reduce((product, size) => product * size, elementBytes[dtype]!)
      return [name, { dtype, shape, data_offsets: [begin, end] }]
    }),
  )
  return { header, dataBytes: end }
}

/** A safetensors file; its data is zeros. */
export function safetensorsOf(tensors: Record<string, TensorOf>): Uint8Array {
  const { header, dataBytes } = headerOf(tensors)
  return fileOf(JSON.stringify(header), dataBytes)
}

/** A file of any header text and so many bytes of data. */
export function fileOf(header: string, dataBytes: number, claimedBytes?: bigint): Uint8Array {
  const text = Buffer.from(header)
  const length = Buffer.alloc(8)
  length.writeBigUInt64LE(claimedBytes ?? BigInt(text.length))
  return Buffer.concat([length, text, Buffer.alloc(dataBytes)])
}

/** A Llama of one layer: hidden 8, two heads over one KV head, 11 ids. */
export const tinyConfig = {
  architectures: ['LlamaForCausalLM'],
  model_type: 'llama',
  vocab_size: 11,
  hidden_size: 8,
  intermediate_size: 12,
  num_hidden_layers: 1,
  num_attention_heads: 2,
  num_key_value_heads: 1,
  max_position_embeddings: 64,
  rms_norm_eps: 1e-5,
  tie_word_embeddings: false,
} as const

/** All tensors of `tinyConfig`. */
export function tinyTensors(dtype = 'F32'): Record<string, TensorOf> {
  const layer = 'model.layers.0'
  const shapes: Record<string, number[]> = {
    'model.embed_tokens.weight': [11, 8],
    [`${layer}.input_layernorm.weight`]: [8],
    [`${layer}.self_attn.q_proj.weight`]: [8, 8],
    [`${layer}.self_attn.k_proj.weight`]: [4, 8],
    [`${layer}.self_attn.v_proj.weight`]: [4, 8],
    [`${layer}.self_attn.o_proj.weight`]: [8, 8],
    [`${layer}.post_attention_layernorm.weight`]: [8],
    [`${layer}.mlp.gate_proj.weight`]: [12, 8],
    [`${layer}.mlp.up_proj.weight`]: [12, 8],
    [`${layer}.mlp.down_proj.weight`]: [8, 12],
    'model.norm.weight': [8],
    'lm_head.weight': [11, 8],
  }
  return Object.fromEntries(Object.entries(shapes).map(([name, shape]) => [name, { dtype, shape }]))
}

/** A loadable folder of the tiny Llama with changes. */
export function tinyFolder(
  config: object = {},
  change: (tensors: Record<string, TensorOf>) => void = () => undefined,
  files: Record<string, Uint8Array | string | object> = {},
): string {
  const tensors = tinyTensors()
  change(tensors)
  return makeFolder({
    'config.json': { ...tinyConfig, ...config },
    'model.safetensors': safetensorsOf(tensors),
    ...files,
  })
}

/** For `rejects.toMatchObject` and `toThrow`-like checks: code and a part of the sentence. */
export function refusal(code: ErrorCode, part: string | RegExp): object {
  const message =
    typeof part === 'string' ? expect.stringContaining(part) : expect.stringMatching(part)
  return { code, message }
}

/** What a call throws, to be matched with `refusal`. */
export function thrownBy(call: () => unknown): unknown {
  try {
    call()
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}
