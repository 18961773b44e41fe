import { testSmollm2 } from '../parity/smollm2-cases.js'

// fp32 differs from the golden by the order of sums alone.
testSmollm2('SmolLM2-135M in fp32', {
  device: 'cuda:0',
  dtype: 'fp32',
  logitError: 5e-3,
  likelihoodError: 1e-3,
})

// Activations and KV rounded to 8 bits of mantissa, logits of up to 33.
testSmollm2('SmolLM2-135M in bf16', {
  device: 'cuda:0',
  dtype: 'bf16',
  logitError: 0.3,
  likelihoodError: 0.02,
})

testSmollm2('SmolLM2-135M in fp16', {
  device: 'cuda:0',
  dtype: 'fp16',
  logitError: 0.05,
  likelihoodError: 0.005,
})
