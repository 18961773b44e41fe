import { readEngineOptions } from '../../../lib/options/engine-options.js'
import { refusal } from '../../helpers/refusal.js'

const traceOf = (trace: unknown): unknown => readEngineOptions({ memory: { trace } }).trace
const defaults = { level: 0, ringEvents: 65_536, sampleBytes: 2 ** 20, spill: null }

it('takes a level alone, or more', () => {
  expect(traceOf(undefined)).toEqual(defaults)
  expect(traceOf(2)).toEqual({ ...defaults, level: 2 })
  expect(traceOf({ level: 3, ringEvents: 10, sampleBytes: 1 })).toEqual({
    level: 3,
    ringEvents: 10,
    sampleBytes: 1,
    spill: null,
  })
  expect(traceOf({ spill: 'a.jsonl' })).toMatchObject({
    level: 0,
    spill: { path: 'a.jsonl', maxBytes: 256 * 2 ** 20 },
  })
  expect(traceOf({ spill: { path: 'a', maxBytes: 5 } })).toMatchObject({
    spill: { path: 'a', maxBytes: 5 },
  })
})

it.each([
  [4, /memory\.trace\.level is 4; it must be one of 0, 1, 2, 3/],
  ['2', /memory\.trace is "2"; it must be an object/],
  [{ level: 'all' }, /memory\.trace\.level is "all"/],
  [{ levels: 2 }, /unknown option memory\.trace\.levels; did you mean memory\.trace\.level/],
  [{ ringEvents: 0 }, /ringEvents is 0; it must be an integer from 1 to 1000000/],
  [{ sampleBytes: 0.5 }, /sampleBytes is 0\.5/],
  [{ spill: '' }, /memory\.trace\.spill is ""; it must be the path of a file/],
  [{ spill: 'a\0b' }, /memory\.trace\.spill is "a\\u0000b"; it must be the path of a file/],
  [{ spill: { path: 'a\0b' } }, /memory\.trace\.spill\.path is "a\\u0000b"/],
  [{ spill: 3 }, /memory\.trace\.spill is 3/],
  [{ spill: { path: 3 } }, /memory\.trace\.spill\.path is 3/],
  [{ spill: { path: 'a', maxByte: 1 } }, /did you mean memory\.trace\.spill\.maxBytes/],
])('refuses %j', (trace, sentence) => {
  expect(refusal(() => traceOf(trace)).message).toMatch(sentence)
})
