import { weightFileOf } from '../../../lib/checkpoint/weight-file.js'
import { refusal, thrownBy } from './folders.js'

test.each<[string[], string]>([
  [['config.json', 'model.safetensors'], 'model.safetensors'],
  [
    ['model.safetensors', 'model.safetensors.index.json', 'model-00001-of-00002.safetensors'],
    'model.safetensors',
  ],
  [
    ['model.safetensors.index.json', 'a.safetensors', 'b.safetensors'],
    'model.safetensors.index.json',
  ],
  [['weights.safetensors', 'adapter_model.safetensors'], 'weights.safetensors'],
])('%j: %s', (names, file) => {
  expect(weightFileOf('/m', names)).toBe(file)
})

test.each<[string[], object]>([
  [
    ['config.json', 'pytorch_model.bin'],
    refusal(
      'OCTAVO_UNSUPPORTED_MODEL',
      /pytorch_model\.bin but no \*\.safetensors.*save_pretrained/,
    ),
  ],
  [
    ['tiny.Q4_0.gguf'],
    refusal(
      'OCTAVO_UNSUPPORTED_MODEL',
      /tiny\.Q4_0\.gguf; octavo reads safetensors, not GGUF: give/,
    ),
  ],
  [
    ['adapter_config.json', 'adapter_model.safetensors'],
    refusal('OCTAVO_UNSUPPORTED_MODEL', 'give the folder of its base model'),
  ],
  [
    ['a.safetensors', 'b.safetensors'],
    refusal(
      'OCTAVO_CHECKPOINT_INVALID',
      '/m has 2 *.safetensors files but no model.safetensors.index.json',
    ),
  ],
  [
    ['config.json'],
    refusal('OCTAVO_IO_FAILED', '/m has no model.safetensors and no model.safetensors.index.json'),
  ],
  [[], refusal('OCTAVO_IO_FAILED', 'is it the folder of a model?')],
])('%j is refused', (names, problem) => {
  expect(thrownBy(() => weightFileOf('/m', names))).toMatchObject(problem)
})
