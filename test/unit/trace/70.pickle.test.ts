import { spawnSync } from 'node:child_process'
import { Pair, pickle, type Picklable } from '../../../lib/trace/pickle.js'
import { unpickle } from '../../helpers/unpickle.js'

const edges = [0, 1, 255, 256, 65535, 65536, 2 ** 31 - 1, 2 ** 31, 2 ** 47, 2 ** 53 - 1]
const shared = [{ name: 'frame', line: 0 }]
const everything: Picklable = {
  numbers: [...edges, ...edges.map((value) => -value)],
  texts: ['', 'a', 'é ← 漢字 🐙', 'x'.repeat(300), 'a'],
  truth: [true, false, null],
  empty: [[], {}],
  pair: new Pair(0, 7),
  long: Array.from({ length: 2500 }, (_, i) => i),
  wide: Object.fromEntries(Array.from({ length: 2500 }, (_, i) => [`key ${i}`, i])),
  shared: [shared, shared],
}
const asJson = JSON.parse(
  JSON.stringify(everything, (_, value: unknown) =>
    value instanceof Pair ? [value.first, value.second] : Object.is(value, -0) ? 0 : value,
  ),
) as unknown

it('is what was pickled when it is loaded', () => {
  const loaded = unpickle(pickle(everything)) as { shared: unknown[] }
  expect(JSON.parse(JSON.stringify(loaded))).toEqual(asJson)
  expect(loaded.shared[0]).toBe(loaded.shared[1])
})

it('holds a string and an object once, however often they are met', () => {
  const once = pickle(['x'.repeat(1000)]).length
  expect(pickle(Array<string>(100).fill('x'.repeat(1000))).length).toBeLessThan(once + 600)
  expect(pickle(Array<Picklable>(100).fill({ x: 'y'.repeat(1000) })).length).toBeLessThan(
    once + 600,
  )
})

it('refuses what is no whole number', () => {
  for (const value of [0.5, NaN, Infinity, 2 ** 53])
    expect(() => pickle([value])).toThrow(RangeError)
})

const python = spawnSync('python3', ['--version']).status === 0
;(python ? it : it.skip)('is loaded by Python', () => {
  const program = 'import json, pickle, sys; json.dump(pickle.load(sys.stdin.buffer), sys.stdout)'
  const { stdout, stderr } = spawnSync('python3', ['-c', program], {
    input: pickle(everything),
    encoding: 'utf8',
  })
  expect(stderr).toBe('')
  expect(JSON.parse(stdout)).toEqual(asJson)
})
