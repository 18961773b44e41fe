/** How many tokens of prompts share the steps of those who decode. Steps are only told, none is taken. */
import { testing } from '../../helpers/native-testing.js'
import { SeededRandom } from '../../helpers/seeded-random.js'

interface Pace {
  stepped(prompts: number, nanoseconds: number): void
  tokens(decoding: number, waiting: number): number
}
const { Pace } = testing as unknown as { Pace: new (least: number, most: number) => Pace }

const millisecond = 1e6
const stale = 64

/** A device on which decodes take `alone`, and every token of a prompt `each` beyond so many that cost nothing. */
interface Machine {
  alone: number
  each: number
  free?: number
  jitter?: number
}

/** Takes steps with as many tokens of prompts as it may have; their times over `alone`, and how many tokens there were. */
function run(
  pace: Pace,
  machine: Machine,
  steps: number,
  waiting = 1,
): { slowdown: number; prompts: number }[] {
  const { alone, each, free = 0, jitter = 0 } = machine
  const random = new SeededRandom(5)
  return Array.from({ length: steps }, () => {
    const prompts = pace.tokens(10, waiting)
    const steady = alone + each * Math.max(0, prompts - free)
    const nanoseconds = steady * (1 + jitter * (2 * random.next() - 1))
    pace.stepped(prompts, nanoseconds)
    return { slowdown: nanoseconds / alone, prompts }
  })
}

test('the first step shows what decodes take alone, and so does one after 64 with prompts', () => {
  const pace = new Pace(32, 8192)
  const taken = run(pace, { alone: 5 * millisecond, each: 10_000 }, 3 * (stale + 1))
  const without = taken.flatMap(({ prompts }, step) => (prompts === 0 ? [step] : []))
  expect(without).toEqual([0, stale + 1, 2 * (stale + 1)])
})

test('a fast device gets more tokens, a slow one fewer at once, and steps take twice as long at most', () => {
  const fast = run(new Pace(32, 8192), { alone: 5 * millisecond, each: 8_000 }, 600)
  expect(fast.every(({ slowdown }) => slowdown <= 2)).toBe(true)
  expect(fast.at(-2)!.prompts).toBeGreaterThan(400) // 500 would be on time to the nanosecond
  const slow = run(new Pace(32, 8192), { alone: 5 * millisecond, each: 50_000 }, 600)
  expect(slow.filter(({ slowdown }) => slowdown > 2).length).toBe(1) // the first that had any
  expect(slow.at(-2)!.prompts).toBeGreaterThanOrEqual(72) // of 80
})

test.each([
  ['where many tokens cost nothing', { alone: 6 * millisecond, each: 12_000, free: 200 }],
  ['where times vary', { alone: 6 * millisecond, each: 12_000, jitter: 0.05 }],
])('p99 stays at 2.5 times decodes alone, %s', (_, machine) => {
  const taken = run(new Pace(32, 8192), machine, 5000)
  const slowdowns = taken.map(({ slowdown }) => slowdown).sort((a, b) => a - b)
  expect(slowdowns[Math.floor(0.99 * slowdowns.length)]).toBeLessThan(2.5)
  const mean = taken.reduce((sum, { prompts }) => sum + prompts, 0) / taken.length
  expect(mean).toBeGreaterThan(300)
})

test('it follows decodes that become more, and then fewer', () => {
  const pace = new Pace(32, 8192)
  run(pace, { alone: 5 * millisecond, each: 10_000 }, 300)
  const before = pace.tokens(10, 1)
  run(pace, { alone: 20 * millisecond, each: 10_000 }, 20 * (stale + 1))
  expect(pace.tokens(10, 1)).toBeGreaterThan(2 * before)
  const less = run(pace, { alone: 5 * millisecond, each: 10_000 }, 40 * (stale + 1))
  expect(less.slice(-stale).every(({ slowdown }) => slowdown <= 2.1)).toBe(true)
})

test('a block of tokens goes on whatever it takes, and no more than a batch', () => {
  const slow = run(new Pace(32, 8192), { alone: millisecond, each: millisecond }, 200)
  expect(slow.at(-2)!.prompts).toBe(32)
  const fast = run(new Pace(32, 1024), { alone: millisecond, each: 0 }, 300)
  expect(fast.at(-2)!.prompts).toBe(1024)
  expect(run(new Pace(64, 16), { alone: 0, each: 0 }, 5).at(-1)!.prompts).toBe(16) // a batch of less than a block
})

test('a burst is computed at full speed, and what is learnt stays what it was', () => {
  const pace = new Pace(32, 8192)
  const machine = { alone: 5 * millisecond, each: 10_000 }
  run(pace, machine, 300)
  const usual = pace.tokens(10, 1)
  expect([pace.tokens(9, 2), pace.tokens(8, 2), pace.tokens(1, 255), pace.tokens(0, 4)]).toEqual([
    usual,
    8192,
    8192,
    8192,
  ])
  const crowd = run(pace, machine, 40, 32)
  expect(Math.max(...crowd.map(({ prompts }) => prompts))).toBe(8192)
  expect(pace.tokens(10, 1)).toBe(usual)
})
