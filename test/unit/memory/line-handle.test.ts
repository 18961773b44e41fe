/** The ledger by handle: the same table as by name, at the cost of a few nanoseconds. */
import { memoryTesting, type Ledger } from '../../helpers/memory-testing.js'
import type { NativeLedgerLine } from '../../../lib/native.js'
import type { OwnerKind, Region } from '../../helpers/native-testing.js'
import { refusal } from '../../helpers/refusal.js'
import { SeededRandom } from '../../helpers/seeded-random.js'

test('a line that was opened but holds nothing is not shown', () => {
  const ledger = new memoryTesting.Ledger()
  const line = ledger.line('kv', 'session', 4, 'kv.blocks')
  expect(ledger.lines()).toEqual([])
  ledger.add(line, 512, 1)
  ledger.remove(line, 512, 1)
  expect(ledger.lines()).toEqual([])
  expect(ledger.release(line)).toBe(true)
  ledger.check()
})

test('a line that appears anew counts its peak anew', () => {
  const ledger = new memoryTesting.Ledger()
  const line = ledger.line('kv', 'session', 4, 'kv.blocks')
  ledger.add(line, 4096, 2)
  ledger.remove(line, 4096, 2)
  ledger.addNamed('kv', 'session', 4, 'kv.blocks', 512, 1)
  expect(ledger.lines()).toMatchObject([{ bytes: 512, peakBytes: 512, count: 1 }])
})

test('by handle as by name, more than a line holds is refused and changes nothing', () => {
  const ledger = new memoryTesting.Ledger()
  const [line, other] = [
    ledger.line('kv', 'engine', 0, 'kv.free'),
    ledger.line('kv', 'session', 1, 'kv.blocks'),
  ]
  ledger.add(line, 1024, 2)
  const before = ledger.lines()
  const refused = [
    () => ledger.remove(line, 1025, 1),
    () => ledger.remove(line, 512, 3),
    () => ledger.transfer(line, other, 1025, 1, 1),
    () => ledger.transfer(other, line, 1, 0, 0),
    () => ledger.handOut(line, 'session', 9, 'x', 2048, 0, 1),
    () => ledger.handBack(other, line, 1, 1, 0),
  ]
  for (const call of refused) {
    const { code, message } = refusal(call)
    expect(code).toBe('OCTAVO_INTERNAL')
    expect(message).toMatch(
      /^ledger line kv \/ (engine 0|session 1) .* holds \d+ bytes in \d pieces; cannot/,
    )
  }
  expect(ledger.lines()).toEqual(before)
  ledger.check()
})

test('what four threads put in and take out again leaves nothing', () => {
  const ledger = new memoryTesting.Ledger()
  ledger.hammer(4, 20_000)
  expect(ledger.lines()).toEqual([])
  expect(ledger.regionBytes('workspace')).toBe(0)
  ledger.check()
})

/** The table as a plain map. */
class PlainLedger {
  private readonly map = new Map<string, NativeLedgerLine>()

  put(name: Name, bytes: number, count: number): void {
    const [region, ownerKind, ownerId, tag] = name
    const key = JSON.stringify(name)
    const line = this.map.get(key) ?? {
      ...{ region, ownerKind, ownerId, tag },
      ...{ bytes: 0, peakBytes: 0, count: 0 },
    }
    line.bytes += bytes
    line.count += count
    line.peakBytes = Math.max(line.peakBytes, line.bytes)
    this.map.set(key, line)
    if (line.bytes === 0 && line.count === 0) this.map.delete(key)
  }

  move(from: Name, to: Name, bytes: number, count: number): void {
    if (JSON.stringify(from) === JSON.stringify(to)) return
    this.put(to, bytes, count)
    this.put(from, -bytes, -count)
  }

  held(name: Name): NativeLedgerLine | undefined {
    return this.map.get(JSON.stringify(name))
  }

  lines(): NativeLedgerLine[] {
    return [...this.map.values()]
  }
}

type Name = [region: Region, kind: OwnerKind, owner: number, tag: string]

const textOf = (lines: NativeLedgerLine[]): string =>
  lines
    .map((line) => JSON.stringify(line))
    .sort()
    .join('\n')

/** One random step on both; `open` are handles by their number. */
function step(
  random: SeededRandom,
  ledger: Ledger,
  plain: PlainLedger,
  open: Map<number, Name>,
): void {
  const regions: Region[] = ['weights', 'kv']
  const kinds: OwnerKind[] = ['engine', 'session']
  // More names than the table keeps places for.
  const anyName = (region = random.pick(regions)): Name => [
    region,
    random.pick(kinds),
    random.between(0, 60),
    random.pick(['a', 'kv.blocks', 'a tag that is longer than a small string', '']),
  ]
  const [bytes, count] = [random.between(0, 3) * 512, random.between(0, 2)]
  const action = random.between(0, 7)
  if (action === 0 || open.size === 0) {
    const name = anyName()
    open.set(ledger.line(...name), name)
    return
  }
  const [line, name] = random.pick([...open])
  const held = plain.held(name)
  const enough = held !== undefined && held.bytes >= bytes && held.count >= count
  if (action === 1) {
    expect(ledger.release(line)).toBe(true)
    open.delete(line)
  } else if (action === 2) {
    ledger.add(line, bytes, count)
    plain.put(name, bytes, count)
  } else if (action === 3) {
    ledger.addNamed(...name, bytes, count)
    plain.put(name, bytes, count)
  } else if (!enough) {
    if (bytes + count === 0) return // by name this is no transfer at all
    expect(refusal(() => ledger.removeNamed(...name, bytes, count)).code).toBe('OCTAVO_INTERNAL')
  } else if (action === 4) {
    ledger.remove(line, bytes, count)
    plain.put(name, -bytes, -count)
  } else if (action === 5) {
    const to = anyName(name[0])
    ledger.transferNamed(...name, to[1], to[2], to[3], bytes, count, count)
    plain.move(name, to, bytes, count)
  } else {
    const to = anyName(name[0])
    const taken = ledger.handOut(line, to[1], to[2], to[3], bytes, count, count)
    plain.move(name, to, bytes, count)
    open.set(taken, to)
    if (action === 6 || bytes + count === 0) return
    ledger.handBack(taken, line, bytes, count, count)
    plain.move(to, name, bytes, count)
    open.delete(taken)
  }
}

test.each([11, 12, 13, 14])('agrees with a plain map at every step (seed %i)', (seed) => {
  const random = new SeededRandom(seed)
  const ledger = new memoryTesting.Ledger()
  const plain = new PlainLedger()
  const open = new Map<number, Name>()
  for (let count = 0; count < 3000; count++) {
    step(random, ledger, plain, open)
    if (count % 10 > 0) continue
    ledger.check()
    const [ours, theirs] = [textOf(ledger.lines()), textOf(plain.lines())]
    if (ours !== theirs) expect(ours).toBe(theirs)
  }
  for (const line of open.keys()) ledger.release(line)
  for (const { region, ownerKind, ownerId, tag, bytes, count } of plain.lines())
    ledger.removeNamed(region, ownerKind, ownerId, tag, bytes, count)
  expect(ledger.lines()).toEqual([])
  ledger.check()
})
