/** The published traces, by the check values of the page beside them, and traces that are none. */
import { quantile } from '../../../lib/bench/distribution.js'
import { parseTrace, readTrace, scaleTrace } from '../../../lib/bench/trace-file.js'
import { promptOf } from '../../../lib/bench/prompts.js'
import { refusal } from '../../refusal.js'
import { sharedPath } from '../../shared.js'

const header = 'TIMESTAMP,ContextTokens,GeneratedTokens'
const row = '2023-11-16 18:17:03.9799600,4808,10'

interface Expected {
  requests: number
  minutes: number
  input: { mean: number; p50?: number; p99: number; max: number }
  output: { mean: number; p50?: number; p99?: number; max?: number }
  distinctBlocks: number
}

const traces: [file: string, expected: Expected][] = [
  [
    'azure-2023-code.csv',
    {
      ...{ requests: 8819, minutes: 57, distinctBlocks: 0 },
      input: { mean: 2048, p50: 1469, p99: 7436, max: 7437 },
      output: { mean: 28, p50: 13, p99: 252, max: 1899 },
    },
  ],
  [
    'azure-2023-conversation.csv',
    {
      ...{ requests: 19_366, minutes: 58, distinctBlocks: 0 },
      input: { mean: 1155, p50: 1020, p99: 4142, max: 14_050 },
      output: { mean: 211, p50: 129, p99: 601, max: 1000 },
    },
  ],
  [
    'mooncake-conversation.jsonl',
    {
      ...{ requests: 12_031, minutes: 59, distinctBlocks: 182_790 },
      input: { mean: 12_035, p50: 6909, p99: 85_401, max: 126_195 },
      output: { mean: 343, p99: 1120 },
    },
  ],
  [
    'mooncake-synthetic.jsonl',
    {
      ...{ requests: 3993, minutes: 17, distinctBlocks: 43_924 },
      input: { mean: 15_325, p99: 66_458, max: 191_378 },
      output: { mean: 149 },
    },
  ],
]

const withTraces = sharedPath('traces') === null ? test.skip : test

withTraces.each(traces)('%s', async (file, expected) => {
  const arrivals = await readTrace(sharedPath('traces', file)!)
  expect(arrivals).toHaveLength(expected.requests)
  expect(arrivals[0]!.atMs).toBe(0)
  const times = arrivals.map(({ atMs }) => atMs)
  expect([...times].sort((a, b) => a - b)).toEqual(times)
  expect(Math.abs(times.at(-1)! / 60_000 - expected.minutes)).toBeLessThan(1)
  for (const [name, values] of [
    ['input', arrivals.map(({ inputTokens }) => inputTokens)],
    ['output', arrivals.map(({ outputTokens }) => outputTokens)],
  ] as const) {
    const sorted = [...values].sort((a, b) => a - b)
    const { mean, p50, p99, max } = expected[name] as Expected['input']
    // The page rounds to whole tokens, and says not which of two neighbours a quantile is.
    const isAbout = (found: number, value: number | undefined): void => {
      if (value !== undefined) expect(Math.abs(found - value)).toBeLessThan(1 + value / 1000)
    }
    isAbout(sorted.reduce((a, b) => a + b) / sorted.length, mean)
    isAbout(quantile(sorted, 0.5), p50)
    isAbout(quantile(sorted, 0.99), p99)
    isAbout(sorted.at(-1)!, max)
  }
  expect(new Set(arrivals.flatMap(({ blocks }) => blocks)).size).toBe(expected.distinctBlocks)
})

test("Azure's clock is read to its last digit", () => {
  const [, second] = parseTrace('t.csv', `${header}\n${row}\n2023-11-16 18:17:04.0319601,3180,8`)
  expect(second).toMatchObject({ inputTokens: 3180, outputTokens: 8, blocks: [] })
  expect(second!.atMs).toBeCloseTo(52.0001, 3)
})

test('requests out of order are put in order', () => {
  const line = (timestamp: number): string =>
    JSON.stringify({ timestamp, input_length: timestamp, output_length: 1, hash_ids: [timestamp] })
  const arrivals = parseTrace('t.jsonl', [line(30), line(10), line(20), ''].join('\n'))
  expect(arrivals.map(({ atMs, blocks }) => [atMs, blocks])).toEqual([
    [0, [10]],
    [10, [20]],
    [20, [30]],
  ])
})

test('times and lengths are scaled, and nothing becomes empty', () => {
  const arrivals = parseTrace('t.csv', `${header}\n${row}\n2023-11-16 18:17:05.9799600,100,0`)
  expect(scaleTrace(arrivals, { time: 0.5, length: 0.01, requests: 9 })).toEqual([
    { atMs: 0, inputTokens: 48, outputTokens: 1, blocks: [] },
    { atMs: expect.closeTo(1000, 3) as number, inputTokens: 1, outputTokens: 1, blocks: [] },
  ])
  expect(scaleTrace(arrivals, { time: 1, length: 1, requests: 1 })).toHaveLength(1)
})

test.each<[text: string, sentence: string]>([
  ['hello', 't.csv, line 1: it is no trace that octavo reads'],
  ['', 't.csv, line 1: it is no trace'],
  [header, 't.csv, line 1: it has no requests'],
  [`${header}\n${row}\nyesterday,1,2`, 't.csv, line 3: the time is "yesterday"'],
  [`${header}\n2023-13-45 10:00:00,1,2`, 't.csv, line 2: the time is'],
  [`${header}\n2023-11-16 18:17:03,-4,2`, 't.csv, line 2: ContextTokens is "-4"'],
  [`${header}\n2023-11-16 18:17:03,4`, 't.csv, line 2: GeneratedTokens is undefined'],
  ['{"timestamp": 0', 't.csv, line 1: "{\\"timestamp\\": 0" is no JSON'],
  ['{"timestamp": "0"}', 't.csv, line 1: timestamp is "0"'],
  ['{"timestamp": 0, "input_length": 1.5}', 't.csv, line 1: input_length is 1.5'],
  ['{"timestamp": 0, "input_length": 1, "output_length": 1, "hash_ids": [-1]}', 'hash_ids is'],
])('%j is refused', (text, sentence) => {
  expect(() => parseTrace('t.csv', text)).toThrow(refusal('OCTAVO_INVALID_ARGUMENT', sentence))
})

test('a file that is not there is refused by its path', async () => {
  const refused = refusal('OCTAVO_IO_FAILED', '/no/trace.csv: it does not exist')
  await expect(readTrace('/no/trace.csv')).rejects.toEqual(refused)
})

test('prompts share exactly the blocks that the trace says', () => {
  const options = { vocabulary: 1000, seed: 3, blockTokens: 16 }
  const prompt = (index: number, blocks: number[], inputTokens: number): number[] => [
    ...promptOf({ blocks, inputTokens }, index, options),
  ]
  const first = prompt(0, [4, 5, 6], 48)
  const second = prompt(1, [4, 5, 7], 40)
  expect(second.slice(0, 32)).toEqual(first.slice(0, 32))
  expect(second.slice(32)).not.toEqual(first.slice(32, 40))
  expect(prompt(9, [4, 5, 6], 48)).toEqual(first)
  expect(prompt(0, [], 20)).not.toEqual(prompt(1, [], 20))
  expect(prompt(0, [4], 20).slice(0, 16)).toEqual(first.slice(0, 16))
  expect(first.every((token) => token >= 0 && token < 1000)).toBe(true)
  expect(promptOf({ blocks: [], inputTokens: 5 }, 0, { ...options, seed: 4 })).not.toEqual(
    promptOf({ blocks: [], inputTokens: 5 }, 0, options),
  )
})
