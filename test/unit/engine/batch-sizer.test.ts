/** How large a batch may be: by memory and by time, without swinging to and fro. Steps are only told, none is taken. */
import type { NativeBatch } from '../../../lib/native.js'
import { testing } from '../../helpers/native-testing.js'
import { SeededRandom } from '../../helpers/seeded-random.js'

interface Sizing {
  maxSequences: number
  maxTokens: number
  blockSize: number
  tokenBytes: number
  targetNanoseconds: number
}
interface Sizer {
  ended(tokens: number): void
  look(availableBytes: number, tokens: number, requests: number): void
  stepped(tokens: number, nanoseconds: number): void
  report(byMemory: boolean): NativeBatch
}

const { Sizer } = testing as unknown as { Sizer: new (sizing: Sizing) => Sizer }
const target = 20e6
const open = (given: Partial<Sizing> = {}): Sizer =>
  new Sizer({
    maxSequences: 256,
    maxTokens: 8192,
    blockSize: 32,
    tokenBytes: 1000,
    targetNanoseconds: target,
    ...given,
  })

describe('by memory', () => {
  const gigabyte = 1e9

  it('is what KV there is over what a sequence comes to hold, in whole blocks', () => {
    const sizer = open()
    sizer.look(gigabyte, 40 * 4000, 40) // 4000 tokens each as they are
    expect(sizer.report(true)).toMatchObject({ expectedTokens: 4000, memorySequences: 250 })
    sizer.look(gigabyte, 40 * 4001, 40) // 4032 in blocks of 32
    const now = sizer.report(true)
    expect([now.memorySequences, now.sequences]).toEqual([248, 248])
    expect(sizer.report(false).sequences).toBe(256) // where admission keeps the memory
  })

  it('foresees what those that ended came to, and never forbids all', () => {
    const sizer = open()
    sizer.ended(8000)
    sizer.look(gigabyte, 100, 10)
    expect(sizer.report(true)).toMatchObject({ expectedTokens: 8000, sequences: 125 })
    for (let ends = 0; ends < 200; ends++) sizer.ended(800)
    sizer.look(gigabyte, 100, 10)
    expect(sizer.report(true).expectedTokens).toBeLessThan(810)
    sizer.look(10, 100, 10)
    expect(sizer.report(true).sequences).toBe(1)
  })

  it('falls at once and rises slowly, and not at all while what it rises to comes and goes', () => {
    const sizer = open()
    const told = (bytes: number): number => {
      sizer.look(bytes, 4000 * 10, 10)
      return sizer.report(true).memorySequences
    }
    expect(told(400e6)).toBe(100)
    for (let step = 0; step < 501; step++) expect(told(step % 2 === 0 ? 400e6 : 600e6)).toBe(100)
    const rise = Array.from({ length: 400 }, () => told(600e6))
    expect(rise[6]).toBe(100)
    expect(rise[7]).toBe(112)
    expect(rise).toEqual([...rise].sort((a, b) => a - b))
    expect(rise.at(-1)).toBe(150)
    expect(told(4e6)).toBe(1)
  })
})

/** A device: so long a step, and a token. */
interface Machine {
  fixed: number
  each: number
  jitter: number
}

/** Steps as a scheduler would take them: all decodes, and prompts as far as the batch may go. */
function run(sizer: Sizer, machine: Machine, decodes: number, steps: number): number[] {
  const random = new SeededRandom(11)
  return Array.from({ length: steps }, () => {
    const { tokens: most } = sizer.report(false)
    const tokens = Math.max(decodes, most)
    const noise = 1 + machine.jitter * (2 * random.next() - 1)
    sizer.stepped(tokens, Math.round((machine.fixed + machine.each * tokens) * noise))
    return sizer.report(false).tokens
  })
}

const directions = (sizes: number[]): Set<number> =>
  new Set(sizes.slice(1).map((size, index) => Math.sign(size - sizes[index]!)))

describe('by time', () => {
  it('does nothing without a target', () => {
    const sizer = open({ targetNanoseconds: 0 })
    run(sizer, { fixed: 1e9, each: 1e6, jitter: 0 }, 4, 50)
    expect(sizer.report(false)).toMatchObject({ tokens: 8192, lowered: 0, late: 0 })
  })

  it('takes no notice of one slow step, and lowers by what two in a row were late', () => {
    const sizer = open()
    for (let step = 0; step < 20; step++) sizer.stepped(8192, step % 2 === 0 ? 5 * target : target)
    expect(sizer.report(false)).toMatchObject({ tokens: 8192, late: 10, lowered: 0 })
    for (const tokens of [8192, 8192]) sizer.stepped(tokens, target * 1.25)
    expect(sizer.report(false).tokens).toBe(Math.ceil(8192 * 0.8))
    const { tokens } = sizer.report(false)
    for (let step = 0; step < 2; step++) sizer.stepped(tokens, target * 1.01)
    expect(sizer.report(false).tokens).toBe(Math.ceil(tokens * 0.875)) // an eighth at least
  })

  it('lets a request begin for as many tokens as there may be', () => {
    const sizer = open()
    const machine = { fixed: 0, each: target / 64, jitter: 0 }
    run(sizer, machine, 64, 200)
    const { tokens, sequences } = sizer.report(false)
    expect(tokens).toBeLessThanOrEqual(64)
    expect(tokens).toBeGreaterThan(48)
    expect(sequences).toBe(tokens)
  })

  it('stops lowering where the time is not the tokens’, and goes on under another load', () => {
    const sizer = open()
    run(sizer, { fixed: 3 * target, each: 1000, jitter: 0 }, 4, 500)
    const { tokens, lowered } = sizer.report(false)
    expect([tokens, lowered]).toEqual([4096, 1])
    run(sizer, { fixed: 0, each: target / 1000, jitter: 0 }, 4, 300)
    expect(sizer.report(false).tokens).toBeLessThanOrEqual(1000)
  })

  test.each([0, 0.04])('a step load swings nothing, steps vary by %p', (jitter) => {
    const random = new SeededRandom(3)
    for (let machines = 0; machines < 40; machines++) {
      const sizer = open({ maxTokens: random.pick([64, 512, 8192]) })
      for (let change = 0; change < 6; change++) {
        const fits = 2 ** (1 + 12 * random.next()) // tokens that are on time
        const fixed = target * 0.7 * random.next()
        const machine = { fixed, each: (target - fixed) / fits, jitter }
        const before = sizer.report(false).tokens
        const sizes = [before, ...run(sizer, machine, 1, jitter === 0 ? 1200 : 2400)]
        const moves = directions(sizes)
        expect(moves.has(1) && moves.has(-1)).toBe(false) // one way, whichever
        const settled = new Set(sizes.slice(-400)) // two late ones in a row may be long in coming
        expect(settled.size).toBeLessThanOrEqual(jitter === 0 ? 1 : 2)
        const [size] = settled
        if (size! > 1) expect((fixed + machine.each * size!) / target).toBeLessThan(1 + jitter)
      }
    }
  })
})
