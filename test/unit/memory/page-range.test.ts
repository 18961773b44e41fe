import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { openMemory, testing, type Memory, type Pages } from '../../helpers/native-testing.js'
import { refusal } from '../../helpers/refusal.js'

const MiB = 2 ** 20
const page = 2 * MiB

function open(
  pages: number,
  kind: 'device' | 'whole' = 'device',
): { memory: Memory; range: Pages } {
  const memory = openMemory()
  return { memory, range: new testing.Pages(memory, { kind, region: 'kv', tag: 'kv', pages }) }
}

const lines = (memory: Memory): (string | number)[][] =>
  memory.lines().map(({ region, tag, bytes, count }) => [region, tag, bytes, count])

test('reserved addresses cost nothing; mapped pages are on the ledger, in the limit and on the device', () => {
  const { memory, range } = open(1000)
  expect(memory.lines()).toEqual([])
  expect(range.counts()).toEqual({ pages: 1000, mapped: 0, elastic: true, alignment: page })
  range.map(10, 3)
  range.map(0, 1)
  expect(lines(memory)).toEqual([['kv', 'kv', 4 * page, 4]])
  expect(memory.statistics('kv')).toMatchObject({
    allocatedBytes: 4 * page,
    allocations: 4,
    deviceBytes: 4 * page,
  })
  range.unmap(11, 1)
  expect(lines(memory)).toEqual([['kv', 'kv', 3 * page, 3]])
  expect(memory.statistics('kv')).toMatchObject({ frees: 1, deviceBytes: 3 * page })
  memory.check()
  range.check()
  range.dispose()
  expect(memory.lines()).toEqual([])
  expect(memory.statistics('kv')).toMatchObject({ allocatedBytes: 0, deviceBytes: 0, frees: 4 })
  memory.check()
})

test('pages hold what is written across their border, and are fresh when mapped anew', () => {
  const { range } = open(8)
  range.map(3, 1)
  range.map(4, 1)
  const bytes = Uint8Array.from({ length: 1000 }, (_, index) => (index * 7) & 255)
  range.write(4 * page - 500, bytes)
  expect(range.read(4 * page - 500, 1000)).toEqual(bytes)
  range.unmap(4, 1)
  expect(range.read(4 * page - 500, 500)).toEqual(bytes.slice(0, 500))
  range.map(4, 4)
  range.write(8 * page - 1000, bytes)
  expect(range.read(8 * page - 1000, 1000)).toEqual(bytes)
  range.dispose()
})

test('unmapping gives back what is mapped of a stretch, and is always safe', () => {
  const { memory, range } = open(16)
  range.map(2, 2)
  range.map(6, 1)
  range.unmap(0, 5)
  expect(range.counts().mapped).toBe(1)
  range.unmap(0, 5)
  range.unmap(100, 7)
  range.unmap(6, 2 ** 40)
  expect(range.counts().mapped).toBe(0)
  expect(memory.lines()).toEqual([])
  range.check()
  memory.check()
  range.dispose()
})

test('the limit refuses whole stretches, with the numbers on both sides', () => {
  const { memory, range } = open(16)
  memory.setLimit('kv', 5 * page)
  range.map(0, 4)
  const { code, message } = refusal(() => range.map(8, 2))
  expect(code).toBe('OCTAVO_OUT_OF_MEMORY')
  expect(message).toMatch(/region kv: asked 4 MiB, holds 8 MiB of its limit 10 MiB; raise/)
  expect(range.counts().mapped).toBe(4)
  expect(lines(memory)).toEqual([['kv', 'kv', 4 * page, 4]])
  range.map(8, 1)
  memory.check()
  range.dispose()
})

test('failing the n-th taking, for every n, leaves what was mapped before', () => {
  for (const failing of [1, 2, 3]) {
    const { memory, range } = open(32)
    memory.failAfter(failing)
    const mapped: number[] = []
    const { code, message } = refusal(() => {
      for (const first of [0, 5, 20]) {
        range.map(first, 2)
        mapped.push(first)
      }
    })
    expect(code).toBe('OCTAVO_OUT_OF_MEMORY')
    expect(message).toMatch(/asked 4 MiB of memory of cpu .*which has .* free of/)
    expect(mapped).toHaveLength(failing - 1)
    expect(range.counts().mapped).toBe(2 * (failing - 1))
    expect(memory.statistics('kv')).toMatchObject({
      allocatedBytes: 2 * (failing - 1) * page,
      deviceBytes: 2 * (failing - 1) * page,
      failures: 1,
    })
    range.map(10, 1)
    memory.check()
    range.check()
    range.dispose()
    expect(memory.lines()).toEqual([])
  }
})

test('a device without room refuses, and takes nothing of the stretch', () => {
  const memory = openMemory()
  const range = new testing.Pages(memory, {
    kind: 'accounted',
    region: 'kv',
    tag: 'kv',
    pages: 2 ** 20,
    room: 10,
  })
  range.map(0, 8)
  expect(refusal(() => range.map(8, 3)).code).toBe('OCTAVO_OUT_OF_MEMORY')
  expect(range.counts().mapped).toBe(8)
  range.map(2 ** 20 - 2, 2)
  range.unmap(0, 8)
  range.map(100, 8)
  expect(lines(memory)).toEqual([['kv', 'kv', 10 * page, 10]])
  memory.check()
  range.dispose()
  expect(memory.lines()).toEqual([])
})

test.each([
  ['a mapped page', 4, 3, /pages 4 to 7 of 16: one is mapped already/],
  ['a page past the end', 15, 2, /pages 15 to 17 of 16: there are no such pages/],
  ['a stretch past the end', 17, 1, /there are no such pages/],
])('mapping %s is a fault of the caller', (_, first, count, message) => {
  const { memory, range } = open(16)
  range.map(5, 1)
  const refused = refusal(() => range.map(first, count))
  expect(refused.code).toBe('OCTAVO_INTERNAL')
  expect(refused.message).toMatch(message)
  expect(range.counts().mapped).toBe(1)
  memory.check()
  range.dispose()
})

test('no pages, and more than there are addresses, are refused by code', () => {
  const memory = openMemory()
  const reserve = (pages: number): string =>
    refusal(() => new testing.Pages(memory, { kind: 'device', region: 'kv', tag: 'kv', pages }))
      .code
  expect(reserve(0)).toBe('OCTAVO_INVALID_ARGUMENT')
  expect(reserve(2 ** 50)).toBe('OCTAVO_OUT_OF_MEMORY')
  memory.failAfter(1)
  expect(reserve(1)).toBe('OCTAVO_OUT_OF_MEMORY')
  expect(memory.lines()).toEqual([])
})

test('where pages cannot be mapped singly, the whole range is held and charged for life', () => {
  const { memory, range } = open(4, 'whole')
  expect(range.counts()).toMatchObject({ pages: 4, mapped: 0, elastic: false })
  expect(lines(memory)).toEqual([['kv', 'kv', 4 * page, 4]])
  expect(memory.statistics('kv').deviceBytes).toBe(4 * page)
  range.map(1, 2)
  range.write(2 * page - 1, Uint8Array.of(1, 2))
  expect(range.read(2 * page - 1, 2)).toEqual(Uint8Array.of(1, 2))
  range.unmap(0, 4)
  expect(range.counts().mapped).toBe(0)
  expect(lines(memory)).toEqual([['kv', 'kv', 4 * page, 4]])
  memory.check()
  range.dispose()
  expect(memory.lines()).toEqual([])
  expect(memory.statistics('kv').deviceBytes).toBe(0)
  memory.check()
})

test('an inelastic range beyond the limit is refused and its memory given back', () => {
  const memory = openMemory()
  memory.setLimit('kv', 3 * page)
  const options = { kind: 'whole', region: 'kv', tag: 'kv', pages: 4 } as const
  expect(refusal(() => new testing.Pages(memory, options)).code).toBe('OCTAVO_OUT_OF_MEMORY')
  expect(memory.lines()).toEqual([])
  expect(memory.statistics('kv').deviceBytes).toBe(0)
  memory.check()
})

test('memory goes before its pages: they keep the device until they go too', () => {
  const { memory, range } = open(2)
  range.map(0, 1)
  memory.dispose()
  range.write(0, Uint8Array.of(9))
  expect(range.read(0, 1)).toEqual(Uint8Array.of(9))
  range.dispose()
})

test.each([
  ['off', false],
  ['on', true],
])('OCTAVO_PAGE_MAPPING=%s: a range is elastic: %s', (setting, elastic) => {
  const root = join(__dirname, '..', '..', '..')
  const program = `
    const { testing } = require('node-gyp-build')(process.argv[1])
    const memory = new testing.Memory('cpu')
    const range = new testing.Pages(memory, { kind: 'device', region: 'kv', tag: 'kv', pages: 3 })
    console.log(JSON.stringify([range.counts().elastic, memory.statistics('kv').deviceBytes]))
  `
  const text = execFileSync(process.execPath, ['-e', program, root], {
    cwd: root,
    encoding: 'utf8',
    env: { ...process.env, OCTAVO_PAGE_MAPPING: setting },
  })
  expect(JSON.parse(text)).toEqual([elastic, elastic ? 0 : 3 * page])
})
