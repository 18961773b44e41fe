import type { NativeLedgerLine } from '../../../lib/native.js'
import {
  openMemory,
  roundedBytes,
  type OwnerKind,
  type Region,
} from '../../helpers/native-testing.js'
import { refusal } from '../../helpers/refusal.js'
import { SeededRandom } from '../../helpers/seeded-random.js'

test('an allocation is one line, in the size the device gave', () => {
  const memory = openMemory()
  const id = memory.allocate('workspace', 1000, 'session', 7, 'sampler')
  expect(memory.lines()).toEqual([
    {
      region: 'workspace',
      ownerKind: 'session',
      ownerId: 7,
      tag: 'sampler',
      bytes: 1024,
      peakBytes: 1024,
      count: 1,
    },
  ])
  expect(memory.ownerBytes('session', 7)).toBe(1024)
  memory.check()
  expect(memory.free(id)).toBe(true)
  expect(memory.free(id)).toBe(false)
  expect(memory.lines()).toEqual([])
  expect(memory.ownerBytes('session', 7)).toBe(0)
  memory.check()
})

test('a transfer moves bytes between owners and leaves the region total', () => {
  const memory = openMemory()
  const id = memory.allocate('kv', 4096, 'engine', 0, 'kv')
  memory.transfer('kv', 'engine', 0, 'kv', 'session', 3, 'kv.blocks', 1024, 1)
  expect(
    memory.lines().map(({ ownerKind, tag, bytes, count }) => [ownerKind, tag, bytes, count]),
  ).toEqual([
    ['engine', 'kv', 3072, 0],
    ['session', 'kv.blocks', 1024, 1],
  ])
  expect(memory.statistics('kv').regionBytes).toBe(4096)
  memory.check()
  memory.transfer('kv', 'session', 3, 'kv.blocks', 'engine', 0, 'kv', 1024, 1)
  memory.free(id)
  expect(memory.lines()).toEqual([])
})

test('taking more than a line holds is refused with both numbers and changes nothing', () => {
  const memory = openMemory()
  memory.allocate('kv', 512, 'engine', 0, 'kv')
  const before = memory.lines()
  const removal = refusal(() => memory.remove('kv', 'engine', 0, 'kv', 513, 1))
  expect(removal.code).toBe('OCTAVO_INTERNAL')
  expect(removal.message).toMatch(
    /kv \/ engine 0 \/ kv holds 512 bytes in 1 pieces; cannot take 513/,
  )
  const pieces = refusal(() => memory.remove('kv', 'engine', 0, 'kv', 512, 2))
  expect(pieces.message).toMatch(/in 1 pieces; cannot take 512 bytes in 2/)
  const absent = refusal(() =>
    memory.transfer('kv', 'session', 9, 'kv.blocks', 'engine', 0, 'kv', 1, 1),
  )
  expect(absent.code).toBe('OCTAVO_INTERNAL')
  expect(absent.message).toMatch(/session 9 \/ kv\.blocks holds 0 bytes/)
  expect(memory.lines()).toEqual(before)
  memory.check()
})

test('a free that does not balance is told by check(), not by the free', () => {
  const memory = openMemory()
  const id = memory.allocate('graph', 512, 'engine', 0, 'activations')
  memory.remove('graph', 'engine', 0, 'activations', 512, 1)
  const differing = refusal(() => memory.check())
  expect(differing.code).toBe('OCTAVO_INTERNAL')
  expect(differing.message).toMatch(
    /region graph: the allocator holds 512 bytes in 1 .* ledger shows 0/,
  )
  memory.free(id)
  const unbalanced = refusal(() => memory.check())
  expect(unbalanced.code).toBe('OCTAVO_INTERNAL')
  expect(unbalanced.message).toMatch(
    /1 frees did not balance.*engine 0 \/ activations holds 0 bytes/,
  )
})

/** The ledger as a map, kept by the test. */
class ModelLedger {
  private readonly lines = new Map<string, NativeLedgerLine>()

  private at(region: Region, ownerKind: OwnerKind, ownerId: number, tag: string): NativeLedgerLine {
    const key = [region, ownerKind, ownerId, tag].join('/')
    const fresh = { region, ownerKind, ownerId, tag, bytes: 0, peakBytes: 0, count: 0 }
    const found = this.lines.get(key) ?? fresh
    this.lines.set(key, found)
    return found
  }

  change(
    region: Region,
    kind: OwnerKind,
    id: number,
    tag: string,
    bytes: number,
    count: number,
  ): void {
    const changed = this.at(region, kind, id, tag)
    changed.bytes += bytes
    changed.count += count
    changed.peakBytes = Math.max(changed.peakBytes, changed.bytes)
    for (const [key, { bytes, count }] of this.lines) {
      if (bytes === 0 && count === 0) this.lines.delete(key)
    }
  }

  sorted(): NativeLedgerLine[] {
    return sorted([...this.lines.values()])
  }
}

function sorted(lines: NativeLedgerLine[]): NativeLedgerLine[] {
  const key = (line: NativeLedgerLine): string =>
    [line.region, line.ownerKind, line.ownerId, line.tag].join('/')
  return lines.sort((left, right) => (key(left) < key(right) ? -1 : 1))
}

/** Compares text first: jest's own comparison is slow over thousands of steps. */
function agree(actual: NativeLedgerLine[], expected: NativeLedgerLine[]): void {
  const lines = sorted(actual)
  if (JSON.stringify(lines) !== JSON.stringify(expected)) expect(lines).toEqual(expected)
}

test.each([1, 2, 3])(
  'random allocations, transfers and frees agree with a model (seed %i)',
  (seed) => {
    const random = new SeededRandom(seed)
    const memory = openMemory()
    const model = new ModelLedger()
    const live: {
      id: number
      region: Region
      kind: OwnerKind
      owner: number
      tag: string
      bytes: number
    }[] = []
    const regions: Region[] = ['weights', 'kv', 'graph', 'workspace', 'pinned']
    const kinds: OwnerKind[] = ['engine', 'session', 'request', 'adapter', 'graph']

    for (let step = 0; step < 400; step++) {
      const action = random.next()
      if (action < 0.5 || live.length === 0) {
        const [region, kind, owner] = [
          random.pick(regions),
          random.pick(kinds),
          random.between(0, 3),
        ]
        const tag = random.pick(['a', 'b'])
        const asked = random.between(1, 5000)
        const id = memory.allocate(region, asked, kind, owner, tag)
        const bytes = roundedBytes(region, asked)
        live.push({ id, region, kind, owner, tag, bytes })
        model.change(region, kind, owner, tag, bytes, 1)
      } else if (action < 0.8) {
        const [gone] = live.splice(random.between(0, live.length - 1), 1)
        memory.free(gone!.id)
        model.change(gone!.region, gone!.kind, gone!.owner, gone!.tag, -gone!.bytes, -1)
      } else {
        // Away and back again: peaks on both lines must follow.
        const { region, kind, owner, tag, bytes } = random.pick(live)
        const part = random.between(1, bytes)
        memory.transfer(region, kind, owner, tag, 'session', 99, 'guest', part, 1)
        model.change(region, kind, owner, tag, -part, -1)
        model.change(region, 'session', 99, 'guest', part, 1)
        agree(memory.lines(), model.sorted())
        memory.transfer(region, 'session', 99, 'guest', kind, owner, tag, part, 1)
        model.change(region, 'session', 99, 'guest', -part, -1)
        model.change(region, kind, owner, tag, part, 1)
      }
      memory.check()
      agree(memory.lines(), model.sorted())
    }
    for (const { id } of live) memory.free(id)
    memory.check()
    expect(memory.lines()).toEqual([])
  },
)
