import { mkdtempSync, rmSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { NativeWeightManifest, NativeWeightPart } from '../../../lib/native.js'
import { testing } from '../../helpers/native-testing.js'
import { smallSpec, writeRandomModel, type RandomModel } from '../../helpers/random-model.js'
import { refusal } from '../../helpers/refusal.js'
import { storiesManifest, storiesSpec } from '../../helpers/stories-model.js'

let model: RandomModel
beforeEach(() => {
  model = writeRandomModel(smallSpec(), { seed: 5 })
})
afterEach(() => model.remove())

const entryOf = (name: string): NativeWeightManifest['entries'][number] =>
  model.manifest.entries.find((entry) => entry.name === name)!
const partOf = (name: string, index = 0): NativeWeightPart => entryOf(name).parts[index]!
const refused = (): { code: string; message: string } =>
  refusal(() => testing.validateManifest(model.spec, model.manifest))

test('a manifest that fits its spec and files passes', () => {
  testing.validateManifest(model.spec, model.manifest)
  testing.validateManifest(storiesSpec, storiesManifest())
})

describe('what the model needs and the checkpoint has not', () => {
  const mismatch = (pattern: RegExp): void => {
    const { code, message } = refused()
    expect(code).toBe('OCTAVO_CHECKPOINT_MISMATCH')
    expect(message).toMatch(pattern)
  }

  test('a missing parameter', () => {
    model.manifest.entries = model.manifest.entries.filter(
      ({ name }) => name !== 'layers.1.mlp.down',
    )
    mismatch(/layers\.1\.mlp\.down: is missing; the model \(random\) needs \[24, 40\]/)
  })
  test('an unknown entry', () => {
    model.manifest.entries.push({ name: 'layers.2.mlp.down', parts: [] })
    mismatch(/layers\.2\.mlp\.down: is not of this model \(random, 2 layers\); 1 entries/)
  })
  test('an entry twice', () => {
    model.manifest.entries.push(entryOf('finalNorm'))
    mismatch(/finalNorm: is in the manifest twice/)
  })
  test('no parts', () => {
    entryOf('head').parts = []
    mismatch(/head: lists no tensor .* needs \[50, 24\]/)
  })
  test('a part too few', () => {
    entryOf('layers.0.attention.qkv').parts.pop()
    mismatch(/layers\.0\.attention\.qkv: its parts make 96 rows; the model needs \[128, 24\]/)
  })
  test('a part too many', () => {
    entryOf('layers.0.attention.qkv').parts.push(partOf('layers.0.attention.qkv', 2))
    mismatch(/part 3 \(.*bin, offset \d+\) is \[32, 24\], which does not fit below 128 rows/)
  })
  test('another width', () => {
    partOf('layers.0.mlp.gateUp', 1).shape = [40, 23]
    mismatch(/layers\.0\.mlp\.gateUp: part 1 .* is \[40, 23\]/)
  })
  test('another rank', () => {
    partOf('finalNorm').shape = [24, 1]
    mismatch(/finalNorm: part 0 .* is \[24, 1\]/)
  })
  test.each([[[-24]], [[0]], [[2 ** 52]], [[]]])('a shape of %j', (shape) => {
    partOf('finalNorm').shape = shape
    mismatch(/finalNorm: part 0/)
  })
})

describe('files that do not hold what they say', () => {
  const invalid = (pattern: RegExp): void => {
    const { code, message } = refused()
    expect(code).toBe('OCTAVO_CHECKPOINT_INVALID')
    expect(message).toMatch(pattern)
  }

  test('a byte count that is not the shape’s', () => {
    partOf('embedding').bytes -= 4
    invalid(
      /embedding: part 0 .* is \[50, 24\] fp32, which takes 4800 bytes, but the file gives it 4796/,
    )
  })
  test('a dtype that is not the byte count’s', () => {
    partOf('embedding').dtype = 'bf16'
    invalid(/is \[50, 24\] bf16, which takes 2400 bytes, but the file gives it 4800/)
  })
  test.each([2 ** 53 - 1, 2 ** 40, 10 ** 6])('an offset of %d', (offset) => {
    partOf('head').offset = offset
    invalid(/head: part 0 .* takes 4800 bytes, but the file ends at \d+; it is truncated/)
  })
  test('a file cut by one byte', () => {
    const { file } = partOf('head')
    const last = Math.max(
      ...model.manifest.entries
        .flatMap(({ parts }) => parts)
        .filter((part) => part.file === file)
        .map(({ offset, bytes }) => offset + bytes),
    )
    truncateSync(model.manifest.files[file]!, last - 1)
    invalid(new RegExp(`but the file ends at ${last - 1}`))
  })
  test.each([2, -1, 2 ** 31 - 1])('file number %d', (file) => {
    partOf('head').file = file
    invalid(new RegExp(`head: lies in file ${file}, but the manifest lists 2 files`))
  })
})

describe('files that cannot be read', () => {
  test('a missing file', () => {
    model.manifest.files[1] += '.gone'
    const { code, message } = refused()
    expect(code).toBe('OCTAVO_IO_FAILED')
    expect(message).toMatch(/cannot open .*1\.bin\.gone: No such file/)
  })
  test('a folder', () => {
    const folder = mkdtempSync(join(tmpdir(), 'octavo-folder-'))
    model.manifest.files[0] = folder
    const { code, message } = refused()
    rmSync(folder, { recursive: true })
    expect(code).toBe('OCTAVO_IO_FAILED')
    expect(message).toMatch(/not a regular file/)
  })
})

test.each<[string, (part: NativeWeightPart) => void]>([
  [
    'manifest.entries[0].parts[0].dtype is "int8": expected fp32, bf16 or fp16',
    (part) => (part.dtype = 'int8' as 'fp32'),
  ],
  [
    'manifest.entries[0].parts[0].offset is -1: expected an integer from 0 to 9007199254740991',
    (part) => (part.offset = -1),
  ],
  [
    'manifest.entries[0].parts[0].bytes is nan: expected an integer from 0 to 9007199254740991',
    (part) => (part.bytes = NaN),
  ],
  [
    'manifest.entries[0].parts[0].shape is 0.5: expected an array of whole numbers',
    (part) => (part.shape = [0.5]),
  ],
])('a part of the wrong type is named: %s', (problem, change) => {
  change(model.manifest.entries[0]!.parts[0]!)
  expect(refused()).toEqual({ code: 'OCTAVO_INVALID_ARGUMENT', message: problem })
})
