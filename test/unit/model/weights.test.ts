import { readFileSync, truncateSync } from 'node:fs'
import type { NativeDType } from '../../../lib/native.js'
import { openMemory, testing, type ModelLoad } from '../../helpers/native-testing.js'
import { smallSpec, writeRandomModel, type RandomModel } from '../../helpers/random-model.js'
import { refusal } from '../../helpers/refusal.js'
import { storiesManifest, storiesSpec } from '../../helpers/stories-model.js'

const spec = smallSpec({}, () => ({
  attention: { qkvBias: true, outputBias: true, queryKeyNorm: true },
  mlp: { bias: true },
}))
const open: RandomModel[] = []

function write(dtypeOf?: (name: string, part: number) => NativeDType): RandomModel {
  const model = writeRandomModel(spec, { seed: 9, files: 3, ...(dtypeOf && { dtypeOf }) })
  open.push(model)
  return model
}

afterEach(() => {
  for (const model of open.splice(0)) model.remove()
})

test('the embedded model arrives value for value in one named arena', () => {
  const memory = openMemory()
  const manifest = storiesManifest()
  const load: ModelLoad = { spec: storiesSpec, manifest, dtype: 'fp32', keepFileDType: true }
  const model = new testing.Model(memory, load)
  expect(memory.lines()).toMatchObject([
    {
      region: 'weights',
      ownerKind: 'engine',
      tag: 'weights',
      count: 1,
      bytes: testing.weightBytes(load),
    },
  ])
  const file = readFileSync(manifest.files[0]!)
  for (const { name, parts } of manifest.entries) {
    const bytes = Buffer.concat(
      parts.map(({ offset, bytes }) => file.subarray(offset, offset + bytes)),
    )
    const { dtype, values } = model.read(name)
    expect(dtype).toBe('fp32')
    expect(Buffer.from(values.buffer).equals(bytes)).toBe(true)
  }
  model.dispose()
  expect(memory.lines()).toEqual([])
  memory.check()
})

/** q in fp32 over k, v in bf16; gate in fp16 over up in bf16; else by name. */
function mixed(name: string, part: number): NativeDType {
  if (/qkv$/.test(name)) return part === 0 ? 'fp32' : 'bf16'
  if (/gateUp$/.test(name)) return part === 0 ? 'fp16' : 'bf16'
  if (/[nN]orm$/.test(name)) return 'fp32'
  return /mlp/.test(name) ? 'fp16' : 'bf16'
}

test.each<[NativeDType, boolean]>([
  ['fp32', true],
  ['fp32', false],
  ['bf16', false],
  ['fp16', false],
])(
  'mixed dtypes stored as %s (keeping the file’s: %s) hold the same values',
  (dtype, keepFileDType) => {
    const memory = openMemory()
    const written = write(mixed)
    const load: ModelLoad = { spec, manifest: written.manifest, dtype, keepFileDType }
    const model = new testing.Model(memory, load)
    expect(memory.statistics('weights').allocatedBytes).toBe(testing.weightBytes(load))
    for (const { name, shape } of testing.parametersOf(spec)) {
      const { dtype: stored, values } = model.read(name)
      expect(values).toEqual(written.values.get(name))
      const keeps = keepFileDType || shape.length === 1
      const stacked = /(qkv|gateUp)$/.test(name)
      expect(stored).toBe(keeps ? (stacked ? 'fp32' : mixed(name, 0)) : dtype)
    }
    model.dispose()
    expect(memory.lines()).toEqual([])
  },
)

test('the plan is what is taken: aligned to 256 a parameter, 512 in all', () => {
  const written = write()
  const bytesAs = (width: number): number =>
    testing.parametersOf(spec).reduce((sum, { shape }) => {
      const count = shape.reduce((product, extent) => product * extent, 1)
      return sum + Math.ceil((count * (shape.length === 2 ? width : 4)) / 256) * 256
    }, 0)
  for (const [dtype, width] of [
    ['fp32', 4],
    ['bf16', 2],
    ['fp16', 2],
  ] as const) {
    const load: ModelLoad = { spec, manifest: written.manifest, dtype, keepFileDType: false }
    expect(testing.weightBytes(load)).toBe(Math.ceil(bytesAs(width) / 512) * 512)
  }
})

test('failing the n-th allocation, for every n, leaves nothing', () => {
  const load: ModelLoad = {
    spec,
    manifest: write(mixed).manifest,
    dtype: 'bf16',
    keepFileDType: false,
  }
  const all = 10 // arena, staging, and the eight slices of the ring
  for (let failing = 1; failing <= all; failing++) {
    const memory = openMemory()
    memory.failAfter(failing)
    expect(refusal(() => new testing.Model(memory, load)).code).toBe('OCTAVO_OUT_OF_MEMORY')
    expect(memory.lines()).toEqual([])
    memory.check()
    expect(memory.statistics('weights').deviceBytes).toBe(0)
  }
  const memory = openMemory()
  memory.failAfter(all + 1)
  const model = new testing.Model(memory, load)
  expect(refusal(() => memory.allocate('kv', 1, 'engine', 0, 'x')).code).toBe(
    'OCTAVO_OUT_OF_MEMORY',
  )
  model.dispose()
  expect(memory.lines()).toEqual([])
})

test('a limit below the weights refuses the load before a byte is read', () => {
  const memory = openMemory()
  const load: ModelLoad = { spec, manifest: write().manifest, dtype: 'fp32', keepFileDType: false }
  memory.setLimit('weights', testing.weightBytes(load) - 1)
  const { code, message } = refusal(() => new testing.Model(memory, load))
  expect(code).toBe('OCTAVO_OUT_OF_MEMORY')
  expect(message).toMatch(/region weights: asked .*KiB, holds 0 bytes of its limit/)
  memory.setLimit('weights', testing.weightBytes(load))
  new testing.Model(memory, load).dispose()
  expect(memory.lines()).toEqual([])
})

test('a cancelled load stops, says where, and leaves nothing', () => {
  const memory = openMemory()
  const load = {
    spec,
    manifest: write().manifest,
    dtype: 'fp32',
    keepFileDType: true,
    cancelled: true,
  } as const
  const { code, message } = refusal(() => new testing.Model(memory, load))
  expect(code).toBe('OCTAVO_CANCELLED')
  expect(message).toMatch(/cancelled after 0 bytes of/)
  expect(memory.lines()).toEqual([])
})

test('a file cut between validation and load is refused and leaves nothing', () => {
  const { manifest } = write()
  const load: ModelLoad = { spec, manifest, dtype: 'bf16', keepFileDType: false }
  testing.validateManifest(spec, manifest)
  truncateSync(manifest.files[0]!, 100)
  const memory = openMemory()
  expect(refusal(() => new testing.Model(memory, load)).code).toBe('OCTAVO_CHECKPOINT_INVALID')
  manifest.files[0] = `${manifest.files[0]}.gone`
  expect(refusal(() => new testing.Model(memory, load)).code).toBe('OCTAVO_IO_FAILED')
  expect(memory.lines()).toEqual([])
  memory.check()
})
