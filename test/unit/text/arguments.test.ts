/** What a caller may hand to a tokenizer: everything else is refused by name. */

import { loadText, type Tokenizer } from '../../../lib/text/index.js'
import { refusal } from '../../refusal.js'
import { storiesFolder } from './fixtures'

let tokenizer: Tokenizer
beforeAll(async () => {
  tokenizer = (await loadText(storiesFolder))!.tokenizer
})

/** As JavaScript calls it, without types. */
type Call = (tokenizer: Record<string, (...values: unknown[]) => unknown>) => unknown
const called = (call: Call) => (): unknown => call(tokenizer as never)

test.each<[string, Call, string]>([
  ['encode', (t) => t.encode!('x', { addSpecialToken: false }), 'mean addSpecialTokens?'],
  ['decode', (t) => t.decode!([5], { keepSpecial: true }), 'mean keepSpecialTokens?'],
  ['detokenizer', (t) => t.detokenizer!({ keepSpecialToken: true }), 'mean keepSpecialTokens?'],
])('an unknown option of %s', (_, call, sentence) => {
  expect(called(call)).toThrow(refusal('OCTAVO_UNKNOWN_OPTION', sentence))
})

test.each<[Call, string]>([
  [(t) => t.encode!(5), 'text must be a string'],
  [(t) => t.encode!('x', null), 'options is null; it must be an object of options'],
  [(t) => t.encode!('x', { addSpecialTokens: 1 }), 'addSpecialTokens is 1; it must be true or'],
  [(t) => t.decode!(null), 'ids is null; it must be an array of token ids'],
  [(t) => t.decode!({}), 'ids is an object (Object)'],
  [(t) => t.decode!('ab'), 'ids is "ab"'],
  [
    (t) => t.decode!([1, 99999]),
    'ids[1] is 99999; it must be a token id of this tokenizer, 0 to 511',
  ],
  [(t) => t.decode!([512]), 'ids[0] is 512'],
  [(t) => t.decode!([-1]), 'ids[0] is -1'],
  [(t) => t.decode!(['5']), 'ids[0] is "5"'],
  [(t) => t.detokenizer!(null), 'options is null'],
  [(t) => t.detokenizer!({ keepSpecialTokens: 'no' }), 'keepSpecialTokens is "no"'],
])('%s', (call, sentence) => {
  expect(called(call)).toThrow(refusal('OCTAVO_INVALID_ARGUMENT', sentence))
})

test('typed arrays of ids and undefined options are taken', () => {
  const ids = [403, 407, 261, 378]
  const text = tokenizer.decode(ids)
  expect(tokenizer.decode(Int32Array.from(ids) as unknown as number[])).toBe(text)
  expect(tokenizer.decode(ids, { keepSpecialTokens: undefined as never })).toBe(text)
})
