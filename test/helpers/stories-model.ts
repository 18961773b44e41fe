/** models/stories260k as spec and manifest, written by hand from its config.json: no parser of ours between. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { NativeModelSpec, NativeWeightManifest } from '../../lib/native.js'

const folder = join(__dirname, '../../models/stories260k')
const headDim = 8

export const storiesSpec: NativeModelSpec = {
  family: 'llama',
  vocabularySize: 512,
  sampledVocabulary: 512,
  hiddenSize: 64,
  contextLength: 512,
  normEpsilon: 1e-5,
  tiedEmbeddings: true,
  ropes: [
    {
      inverseFrequencies: Float32Array.from(
        { length: headDim / 2 },
        (_, i) => 10000 ** ((-2 * i) / headDim),
      ),
      magnitude: 1,
    },
  ],
  layers: Array.from({ length: 5 }, () => ({
    attention: {
      heads: 8,
      kvHeads: 4,
      headDim,
      scale: 1 / Math.sqrt(headDim),
      window: 0,
      rope: 0,
      qkvBias: false,
      outputBias: false,
      queryKeyNorm: false,
    },
    mlp: { intermediateSize: 172, bias: false },
  })),
}

/** The same with room for a request of minutes: what it says beyond 512 tokens is nonsense. */
export const endlessSpec: NativeModelSpec = { ...storiesSpec, contextLength: 2 ** 16 }

/** Canonical name → tensors of the file, in the order they are stacked. */
function tensorsOf(layer: number): Record<string, string[]> {
  const from = (...names: string[]): string[] =>
    names.map((name) => `model.layers.${layer}.${name}.weight`)
  return {
    'attention.norm': from('input_layernorm'),
    'attention.qkv': from('self_attn.q_proj', 'self_attn.k_proj', 'self_attn.v_proj'),
    'attention.output': from('self_attn.o_proj'),
    'mlp.norm': from('post_attention_layernorm'),
    'mlp.gateUp': from('mlp.gate_proj', 'mlp.up_proj'),
    'mlp.down': from('mlp.down_proj'),
  }
}

export function storiesManifest(): NativeWeightManifest {
  const path = join(folder, 'model.safetensors')
  const file = readFileSync(path)
  const headerBytes = Number(file.readBigUInt64LE(0))
  const header = JSON.parse(file.subarray(8, 8 + headerBytes).toString()) as Record<
    string,
    { shape: number[]; data_offsets: [number, number] }
  >
  const entry = (name: string, tensors: string[]): NativeWeightManifest['entries'][number] => ({
    name,
    parts: tensors.map((tensor) => {
      const {
        shape,
        data_offsets: [begin, end],
      } = header[tensor]!
      return { file: 0, offset: 8 + headerBytes + begin, bytes: end - begin, dtype: 'fp32', shape }
    }),
  })
  const layers = storiesSpec.layers.flatMap((_, layer) =>
    Object.entries(tensorsOf(layer)).map(([name, tensors]) =>
      entry(`layers.${layer}.${name}`, tensors),
    ),
  )
  return {
    files: [path],
    entries: [
      entry('embedding', ['model.embed_tokens.weight']),
      ...layers,
      entry('finalNorm', ['model.norm.weight']),
    ],
  }
}

/** The published greedy continuations of the model. */
export const storiesGolden = JSON.parse(
  readFileSync(join(folder, 'golden-greedy.json'), 'utf8'),
) as {
  prompt: string
  ids: number[]
}[]
