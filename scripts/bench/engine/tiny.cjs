// Every case of the bars at a size that a processor runs in a second: the same code, no figure worth keeping.
'use strict'

const most = { batch: 4, input: 24, output: 24, prompt: 400, sessions: 4, seconds: 1 }

const smaller = (value, limit) =>
  Array.isArray(value) ? [Math.min(value[0], 4), limit] : Math.min(value, limit)

/** Bars say nothing of such a model. */
const bars = ['floor', 'goal', 'peer']

function shrink(bar) {
  const shrunk = Object.entries(bar)
    .filter(([name]) => !bars.includes(name))
    .map(([name, value]) => [name, name in most ? smaller(value, most[name]) : value])
  return { ...Object.fromEntries(shrunk), case: bar.case.replace('8B', 'tiny'), tiny: true }
}

/** The keys of a config.json that make a shape small. */
const tinyConfig = {
  hidden_size: 256,
  intermediate_size: 512,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  vocab_size: 1024,
  max_position_embeddings: 2048,
  bos_token_id: 1,
  eos_token_id: 2,
}

module.exports = { shrink, tinyConfig }
