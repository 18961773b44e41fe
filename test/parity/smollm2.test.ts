import { testSmollm2 } from './smollm2-cases.js'

// fp32 arithmetic over the bf16 weights, as the golden was made: no margin is doubtful.
testSmollm2('SmolLM2-135M on the CPU', {
  device: 'cpu',
  dtype: 'auto',
  logitError: 1e-3,
  logitRms: 5e-4,
  doubt: 2e-3,
  likelihoodError: 1e-4,
  clearShare: 0.7,
})
