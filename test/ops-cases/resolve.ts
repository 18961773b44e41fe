/** Tokens that only the device knows, put in their places by it. */
import { testing } from '../helpers/native-testing.js'
import { SeededRandom } from '../helpers/seeded-random.js'

const ints = (values: readonly number[]): Int32Array => Int32Array.from(values)

/** −1 − row stands for the token of that row. */
const sampledAt = (row: number): number => -1 - row

type Entry = [token: number, count: number]

/** The definition, in other words: a Map that counts one token more. */
function expectedHistory(rows: Entry[][], sampled: number[]): Entry[][] {
  return rows.map((entries) => {
    const last = entries.at(-1)
    if (last === undefined || last[0] >= 0) return entries
    const token = sampled[-1 - last[0]]!
    const counts = new Map(entries.slice(0, -1))
    const isKnown = counts.has(token)
    counts.set(token, (counts.get(token) ?? 0) + 1)
    return isKnown ? [...counts, last] : [...counts]
  })
}

function resolveHistory(device: string, rows: Entry[][], sampled: number[]): Entry[][] {
  const flat = testing.resolveHistory({
    device,
    tokens: ints(rows.flat().map(([token]) => token)),
    counts: ints(rows.flat().map(([, count]) => count)),
    rows: ints(rows.map(({ length }) => length)),
    sampled: ints(sampled),
  })
  let at = 0
  return rows.map((entries) => entries.map(() => [flat[at++]!, flat[at++]!]))
}

function randomRows(random: SeededRandom, count: number): { rows: Entry[][]; sampled: number[] } {
  const sampled = Array.from({ length: count }, () => random.between(0, 60))
  const rows = Array.from({ length: count }, (): Entry[] => {
    const tokens = new Set(
      Array.from({ length: random.between(0, 700) }, () => random.between(0, 900)),
    )
    const entries = [...tokens].map((token): Entry => [token, random.between(0, 3)])
    if (random.next() < 0.7) entries.push([sampledAt(random.between(0, count - 1)), 0])
    return entries
  })
  return { rows, sampled }
}

/** Tests of both ops on a device. */
export function testResolving(device: string): void {
  test('tokens below 0 become those of the rows that they stand for', () => {
    const random = new SeededRandom(21)
    for (const count of [1, 2, 255, 256, 257, 3000]) {
      const sampled = Array.from({ length: 64 }, () => random.between(0, 200_000))
      const tokens = Array.from({ length: count }, () =>
        random.next() < 0.5 ? random.between(0, 200_000) : sampledAt(random.between(0, 63)),
      )
      const resolved = testing.resolveTokens({
        device,
        tokens: ints(tokens),
        sampled: ints(sampled),
      })
      expect([...resolved]).toEqual(
        tokens.map((token) => (token < 0 ? sampled[-1 - token]! : token)),
      )
    }
  })

  test('the last token counts in the history, seen before or not', () => {
    const seen: Entry[] = [
      [5, 0],
      [9, 2],
      [sampledAt(1), 0],
    ]
    expect(resolveHistory(device, [seen, seen], [3, 9])).toEqual([
      [
        [5, 0],
        [9, 3],
        [sampledAt(1), 0],
      ],
      [
        [5, 0],
        [9, 3],
        [sampledAt(1), 0],
      ],
    ])
    expect(resolveHistory(device, [[], seen, [[7, 1]]], [3, 8])).toEqual([
      [],
      [
        [5, 0],
        [9, 2],
        [8, 1],
      ],
      [[7, 1]],
    ])
  })

  test('as the definition says, for random histories', () => {
    const random = new SeededRandom(22)
    for (let round = 0; round < 12; round++) {
      const { rows, sampled } = randomRows(random, random.between(1, 40))
      expect(resolveHistory(device, rows, sampled)).toEqual(expectedHistory(rows, sampled))
    }
  })
}
