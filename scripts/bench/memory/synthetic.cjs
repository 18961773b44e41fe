// A checkpoint of random weights, as large as asked, in a folder of its own; and what the page cache holds of it.
'use strict'
const { spawnSync } = require('node:child_process')
const { randomFillSync } = require('node:crypto')
const {
  closeSync,
  fsyncSync,
  mkdtempSync,
  openSync,
  rmSync,
  writeFileSync,
  writeSync,
} = require('node:fs')
const { tmpdir } = require('node:os')
const { join } = require('node:path')

const hidden = 1024
const intermediate = 2816
const vocabulary = 8192

/** Tensor shapes of a llama of so many layers. */
function tensorsOf(layers) {
  const tensors = [['model.embed_tokens.weight', [vocabulary, hidden]]]
  for (let layer = 0; layer < layers; layer++) {
    const add = (name, shape) => tensors.push([`model.layers.${layer}.${name}.weight`, shape])
    add('input_layernorm', [hidden])
    for (const name of ['q', 'k', 'v', 'o']) add(`self_attn.${name}_proj`, [hidden, hidden])
    add('post_attention_layernorm', [hidden])
    add('mlp.gate_proj', [intermediate, hidden])
    add('mlp.up_proj', [intermediate, hidden])
    add('mlp.down_proj', [hidden, intermediate])
  }
  tensors.push(['model.norm.weight', [hidden]])
  return tensors
}

const config = (layers) => ({
  architectures: ['LlamaForCausalLM'],
  model_type: 'llama',
  hidden_size: hidden,
  intermediate_size: intermediate,
  num_hidden_layers: layers,
  num_attention_heads: 16,
  num_key_value_heads: 16,
  vocab_size: vocabulary,
  max_position_embeddings: 2048,
  rms_norm_eps: 1e-5,
  rope_theta: 10000,
  tie_word_embeddings: true,
  hidden_act: 'silu',
})

/** bf16 values of about ±1: random bytes with tame exponents, the same 8 MiB over and over. */
function pattern() {
  const bytes = randomFillSync(Buffer.alloc(8 * 2 ** 20))
  for (let at = 1; at < bytes.length; at += 2) bytes[at] = (bytes[at] & 0x80) | 0x3c
  return bytes
}

/** Writes about `bytes` bytes of bf16 weights; the caller calls `remove`. */
function writeSynthetic(bytes, parent = tmpdir()) {
  const layerBytes = 2 * (4 * hidden * hidden + 3 * hidden * intermediate + 2 * hidden)
  const layers = Math.max(1, Math.round((bytes - 2 * vocabulary * hidden) / layerBytes))
  const header = {}
  let end = 0
  for (const [name, shape] of tensorsOf(layers)) {
    const size = 2 * shape.reduce((product, extent) => product * extent, 1)
    header[name] = { dtype: 'BF16', shape, data_offsets: [end, end + size] }
    end += size
  }
  const folder = mkdtempSync(join(parent, 'octavo-synthetic-'))
  const path = join(folder, 'model.safetensors')
  writeFileSync(join(folder, 'config.json'), JSON.stringify(config(layers)))
  const text = Buffer.from(JSON.stringify(header))
  const length = Buffer.alloc(8)
  length.writeBigUInt64LE(BigInt(text.length))
  const file = openSync(path, 'w')
  writeSync(file, length)
  writeSync(file, text)
  const block = pattern()
  for (let done = 0; done < end; done += block.length) {
    writeSync(file, block, 0, Math.min(block.length, end - done))
  }
  fsyncSync(file)
  closeSync(file)
  const remove = () => rmSync(folder, { recursive: true, force: true })
  return { folder, path, bytes: end, remove }
}

/** Makes the next read of a file come from the disk. Throws where the system has no way to. */
function dropCache(path) {
  const args = [`of=${path}`, 'if=/dev/null', 'oflag=nocache', 'conv=notrunc,fdatasync', 'count=0']
  const { status, stderr } = spawnSync('dd', args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`dd could not drop ${path} from the page cache: ${stderr}`)
}

module.exports = { writeSynthetic, dropCache }
