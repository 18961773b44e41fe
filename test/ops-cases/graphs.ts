/** Work that is captured and replayed, and what a capture may not do. */
import { testing } from '../helpers/native-testing.js'
import { SeededRandom } from '../helpers/seeded-random.js'

const untouched = -7

/** The definition, in other words: a row after the other, and what was there behind it. */
function widened(table: readonly number[], stride: number, rows: number, width: number): number[] {
  return Array.from({ length: rows }, (_, row) => [
    ...table.slice(row * stride, (row + 1) * stride),
    ...Array<number>(width - stride).fill(untouched),
  ]).flat()
}

/** Tests of captures and of the op that begins every recorded step, on a device. */
export function testGraphs(device: string): void {
  test.each([0, 1, 3])('rows of a table are widened, %i replays', (replays) => {
    const random = new SeededRandom(31)
    for (const [rows, stride, outStride] of [
      [1, 1, 1],
      [1, 5, 8],
      [3, 127, 128],
      [7, 128, 300],
      [33, 129, 129],
      [256, 300, 1000],
    ] as const) {
      const table = Array.from({ length: rows * stride }, () => random.between(0, 1 << 20))
      const wide = testing.widenRows({
        device,
        table: Int32Array.from(table),
        stride,
        rows,
        outStride,
        replays,
      })
      expect([...wide]).toEqual(widened(table, stride, rows, outStride))
    }
  })

  test('a capture that waits is refused by its rule, and the stream goes on', () => {
    expect(testing.captureBadly({ device, rule: 'wait' })).toMatch(/captur(ed|ing)[^;]*$/)
  })

  test('what is thrown inside of a capture comes out of it, and the stream goes on', () => {
    expect(testing.captureBadly({ device, rule: 'throw' })).toBe('thrown inside of a capture')
  })
}
