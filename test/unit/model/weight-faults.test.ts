/** Loads that fail at every allocation and every read, over rings of every size: exact clean-up, exact values. */
import {
  openMemory,
  testing,
  type Memory,
  type Model,
  type ModelLoad,
} from '../../helpers/native-testing.js'
import { smallSpec, writeRandomModel, type RandomModel } from '../../helpers/random-model.js'
import { refusal } from '../../helpers/refusal.js'

// Parts of mixed dtypes: some chunks are converted, some are read straight to their place.
const spec = smallSpec({ vocabularySize: 900, sampledVocabulary: 900 })
let model: RandomModel
beforeAll(() => {
  const dtypes = ['fp32', 'bf16', 'fp16'] as const
  const dtypeOf = (name: string, part: number): (typeof dtypes)[number] =>
    dtypes[(name.length + part) % 3]!
  model = writeRandomModel(spec, { seed: 11, files: 3, dtypeOf })
})
afterAll(() => model.remove())

const load = (changes: Partial<ModelLoad> = {}): ModelLoad => ({
  spec,
  manifest: model.manifest,
  dtype: 'fp32',
  keepFileDType: false,
  ...changes,
})

const parts = (): number =>
  model.manifest.entries.reduce((sum, entry) => sum + entry.parts.length, 0)

function expectEmpty(memory: Memory): void {
  expect(memory.lines()).toEqual([])
  memory.check()
  expect(memory.statistics('weights').deviceBytes).toBe(0)
}

/** Every parameter, read back from the device. */
function expectExact(loaded: Model): void {
  for (const [name, values] of model.values) expect(loaded.read(name).values).toEqual(values)
}

test('every allocation', () => {
  const memory = openMemory()
  let failed = 0
  for (; ; failed++) {
    memory.failAfter(failed + 1)
    let loaded: Model
    try {
      loaded = new testing.Model(memory, load())
    } catch (error) {
      expect(error).toMatchObject({ code: 'OCTAVO_OUT_OF_MEMORY' })
      expectEmpty(memory)
      continue
    }
    expectExact(loaded)
    loaded.dispose()
    break
  }
  expect(failed).toBe(10) // the weights, the staging slice, the eight of the ring
  memory.failAfter(0)
  expectEmpty(memory)
})

test('every read', () => {
  const memory = openMemory()
  const chunks = parts() // none is larger than a slice
  for (let failChunk = 1; failChunk <= chunks; failChunk++) {
    const { code, message } = refusal(() => new testing.Model(memory, load({ failChunk })))
    expect(code).toBe('OCTAVO_IO_FAILED')
    expect(message).toContain(`chunk ${failChunk} was told to fail`)
    expectEmpty(memory)
  }
  const loaded = new testing.Model(memory, load({ failChunk: chunks + 1 }))
  expectExact(loaded)
  loaded.dispose()
  expectEmpty(memory)
})

test.each([4096 * 2, 12000, 65536, 2 ** 20, 2 ** 30])('a ring of at most %i bytes', (ringLimit) => {
  for (const keepFileDType of [true, false]) {
    const memory = openMemory()
    memory.setLimit('pinned', ringLimit)
    const loaded = new testing.Model(memory, load({ ringLimit, keepFileDType }))
    expect(memory.statistics('pinned').allocatedPeakBytes).toBeLessThanOrEqual(ringLimit)
    expectExact(loaded)
    loaded.dispose()
    expectEmpty(memory)
  }
})

test('a ring smaller than two pages is refused by the limit, not shrunk to nothing', () => {
  const memory = openMemory()
  memory.setLimit('pinned', 5000)
  const { code, message } = refusal(() => new testing.Model(memory, load({ ringLimit: 5000 })))
  expect(code).toBe('OCTAVO_OUT_OF_MEMORY')
  expect(message).toMatch(/region pinned: asked 4 KiB, holds 4 KiB of its limit 4\.88 KiB/)
  expectEmpty(memory)
})

test('giving the page cache back behind the readers changes nothing else', () => {
  const memory = openMemory()
  for (const dropBehind of [true, false]) {
    const loaded = new testing.Model(memory, load({ dropBehind }))
    expectExact(loaded)
    loaded.dispose()
    expectEmpty(memory)
  }
})

test('where nothing is converted the host takes no ring at all', () => {
  const memory = openMemory()
  const plain = writeRandomModel(spec, { seed: 12 })
  const loaded = new testing.Model(memory, load({ manifest: plain.manifest, keepFileDType: true }))
  expect(memory.statistics('pinned').allocatedPeakBytes).toBe(0)
  expect(memory.statistics('workspace').allocatedPeakBytes).toBe(0)
  for (const [name, values] of plain.values) expect(loaded.read(name).values).toEqual(values)
  loaded.dispose()
  expectEmpty(memory)
  plain.remove()
})

test('parameters that lie in a file as they are needed can stay there', () => {
  const memory = openMemory()
  const plain = writeRandomModel(spec, {
    seed: 13,
    dtypeOf: (name) => (name.length % 2 ? 'bf16' : 'fp32'),
  })
  const changes = { manifest: plain.manifest, keepFileDType: true }
  const copied = new testing.Model(memory, load(changes))
  const all = memory.statistics('weights').allocatedBytes
  copied.dispose()
  const mapped = new testing.Model(memory, load({ ...changes, mapFiles: true }))
  expect(memory.statistics('weights').allocatedBytes).toBeLessThan(all)
  for (const [name, values] of plain.values) expect(mapped.read(name).values).toEqual(values)
  mapped.dispose()
  expectEmpty(memory)
  plain.remove()
})
