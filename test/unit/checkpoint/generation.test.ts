import { Fields } from '../../../lib/checkpoint/fields.js'
import {
  bosTokenIdOf,
  eosTokenIdsOf,
  generationDefaultsOf,
} from '../../../lib/checkpoint/generation.js'
import { refusal, thrownBy } from './folders.js'

const fieldsOf = (values: object) =>
  new Fields('generation_config.json', values as Record<string, unknown>)

test('no file: greedy and nothing else', () => {
  expect(generationDefaultsOf(null)).toEqual({ greedy: true })
  expect(generationDefaultsOf(fieldsOf({}))).toEqual({ greedy: true })
})

test('what the file says, unknown keys ignored', () => {
  const values = {
    do_sample: true,
    temperature: 0.7,
    top_p: 0.8,
    top_k: 20,
    repetition_penalty: 1.05,
    max_new_tokens: 2048,
    transformers_version: '4.37.0',
    pad_token_id: 7,
  }
  expect(generationDefaultsOf(fieldsOf(values))).toEqual({
    greedy: false,
    temperature: 0.7,
    topP: 0.8,
    topK: 20,
    repetitionPenalty: 1.05,
    maxNewTokens: 2048,
  })
})

test('do_sample false or temperature 0 is greedy', () => {
  expect(generationDefaultsOf(fieldsOf({ do_sample: false, temperature: 0.7 }))).toEqual({
    greedy: true,
    temperature: 0.7,
  })
  expect(generationDefaultsOf(fieldsOf({ do_sample: true, temperature: 0 }))).toEqual({
    greedy: true,
    temperature: 0,
  })
})

test('end tokens: the union of both files, never the pad token', () => {
  const generation = fieldsOf({ eos_token_id: [128001, 128008, 128009], pad_token_id: 5 })
  const config = new Fields('config.json', {
    eos_token_id: 128001,
    pad_token_id: 6,
    bos_token_id: 128000,
  })
  expect(eosTokenIdsOf(generation, config, 200_000)).toEqual([128001, 128008, 128009])
  expect(eosTokenIdsOf(null, config, 200_000)).toEqual([128001])
  expect(eosTokenIdsOf(null, fieldsOf({ eos_token_id: null }), 9)).toEqual([])
  expect(
    eosTokenIdsOf(fieldsOf({ eos_token_id: 2 }), fieldsOf({ eos_token_id: [1, 2] }), 3),
  ).toEqual([2, 1])
  expect(bosTokenIdOf(generation, config)).toBe(128000)
  expect(bosTokenIdOf(fieldsOf({ bos_token_id: 1 }), config)).toBe(1)
  expect(bosTokenIdOf(null, fieldsOf({}))).toBeNull()
})

test.each<[object, string]>([
  [{ temperature: -1 }, '"temperature" must be a number above 0 and at most 1000000, got -1'],
  [{ top_p: 1.5 }, '"top_p" must be a number above 0 and at most 1, got 1.5'],
  [{ top_k: 1.5 }, '"top_k" must be a non-negative integer, got 1.5'],
  [{ top_p: 1e-300 }, '"top_p" must be a number above 0 and at most 1 in fp32, got 1e-300'],
  [
    { repetition_penalty: 1e-300 },
    '"repetition_penalty" must be a number above 0 and at most 1000000 in fp32',
  ],
  [{ temperature: 1e7 }, '"temperature" must be a number above 0 and at most 1000000, got 1'],
  [{ repetition_penalty: 0 }, '"repetition_penalty" must be a number above 0'],
  [{ max_new_tokens: 0 }, '"max_new_tokens" must be a positive integer'],
  [{ do_sample: 'yes' }, '"do_sample" must be true or false, got "yes"'],
])('%j is refused', (values, sentence) => {
  const problem = refusal('OCTAVO_CHECKPOINT_INVALID', sentence)
  expect(thrownBy(() => generationDefaultsOf(fieldsOf(values)))).toMatchObject(problem)
})

test.each([['x'], [[1, 'x']], [1.5], [-1], [2 ** 31], [{ id: 1 }]])(
  'eos_token_id %j is refused',
  (eos_token_id) => {
    const sentence = 'generation_config.json: "eos_token_id" must be a token id or a list of them'
    const problem = refusal('OCTAVO_CHECKPOINT_INVALID', sentence)
    expect(
      thrownBy(() => eosTokenIdsOf(fieldsOf({ eos_token_id }), fieldsOf({}), 9)),
    ).toMatchObject(problem)
  },
)

test('a temperature that is 0 in fp32 is 0', () => {
  const expected = { greedy: true, temperature: 0 }
  expect(generationDefaultsOf(fieldsOf({ do_sample: true, temperature: 1e-60 }))).toEqual(expected)
})

test('an end token past the vocabulary is refused, with its file', () => {
  const config = new Fields('config.json', { eos_token_id: [1, 99999] })
  expect(thrownBy(() => eosTokenIdsOf(null, config, 512))).toMatchObject(
    refusal(
      'OCTAVO_CHECKPOINT_MISMATCH',
      'config.json: "eos_token_id" is 99999, but the vocabulary has 512 ids (0 to 511)',
    ),
  )
  const generation = fieldsOf({ eos_token_id: 512 })
  expect(thrownBy(() => eosTokenIdsOf(generation, fieldsOf({}), 512))).toMatchObject(
    refusal('OCTAVO_CHECKPOINT_MISMATCH', 'generation_config.json: "eos_token_id" is 512'),
  )
})
