import { Fields } from '../../../lib/checkpoint/fields.js'
import { fullWindows, mistralWindows, qwenWindows } from '../../../lib/families/windows.js'
import { refusal, thrownBy } from '../checkpoint/folders.js'

const fieldsOf = (values: object) => new Fields('config.json', values as Record<string, unknown>)
const qwen = (values: object, layers = 3): number[] =>
  qwenWindows(fieldsOf(values), layers).map(({ window }) => window)
const mistral = (values: object): number[] =>
  mistralWindows(fieldsOf(values), 2).map(({ window }) => window)

test('full windows', () => {
  expect(fullWindows(2)).toEqual([
    { type: 'full_attention', window: 0 },
    { type: 'full_attention', window: 0 },
  ])
})

test('Mistral slides in every layer unless sliding_window is null', () => {
  expect(mistral({ sliding_window: 7 })).toEqual([7, 7])
  expect(mistral({ sliding_window: null })).toEqual([0, 0])
  expect(mistral({})).toEqual([4096, 4096])
})

test('Qwen slides only where use_sliding_window says so, from max_window_layers on', () => {
  expect(qwen({ sliding_window: 9, max_window_layers: 1 })).toEqual([0, 0, 0])
  expect(qwen({ use_sliding_window: false, sliding_window: 9, max_window_layers: 1 })).toEqual([
    0, 0, 0,
  ])
  expect(qwen({ use_sliding_window: true, sliding_window: 9, max_window_layers: 1 })).toEqual([
    0, 9, 9,
  ])
  expect(qwen({ use_sliding_window: true, sliding_window: 9, max_window_layers: 0 })).toEqual([
    9, 9, 9,
  ])
  expect(qwen({ use_sliding_window: true, sliding_window: 9 }, 30).slice(27)).toEqual([0, 9, 9])
})

test('layer_types decides where it is given', () => {
  const layer_types = ['sliding_attention', 'full_attention', 'sliding_attention']
  expect(qwen({ use_sliding_window: true, sliding_window: 5, layer_types })).toEqual([5, 0, 5])
  const full = Array<string>(3).fill('full_attention')
  expect(qwen({ use_sliding_window: false, layer_types: full })).toEqual([0, 0, 0])
})

test.each<[object, object]>([
  [
    { layer_types: ['full_attention'] },
    refusal('OCTAVO_CHECKPOINT_INVALID', 'a list of 3 entries (it has 1)'),
  ],
  [
    { layer_types: ['full_attention', 'full_attention', 'sliding_attention'] },
    refusal(
      'OCTAVO_CHECKPOINT_INVALID',
      'without sliding layers while use_sliding_window is false',
    ),
  ],
  [
    { layer_types: ['full_attention', 'linear_attention', 'full_attention'] },
    refusal('OCTAVO_UNSUPPORTED_MODEL', '"layer_types" has "linear_attention"; octavo runs'),
  ],
  [
    { use_sliding_window: true, sliding_window: 0 },
    refusal('OCTAVO_CHECKPOINT_INVALID', 'a positive integer, got 0'),
  ],
  [{ use_sliding_window: 1 }, refusal('OCTAVO_CHECKPOINT_INVALID', 'must be true or false')],
])('%j is refused', (values, problem) => {
  expect(thrownBy(() => qwen(values))).toMatchObject(problem)
})
