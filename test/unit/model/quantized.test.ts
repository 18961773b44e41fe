/** Parameters of codes: from any stored layout through the ring to their place, and what is refused on the way. */
import { openSync, closeSync, writeSync } from 'node:fs'
import type { NativeQuantizedSource, NativeWeightPart } from '../../../lib/native.js'
import { writeCodedModel, type CodedModel, type PartCase } from '../../helpers/coded-model.js'
import { openMemory, testing, type Memory, type ModelLoad } from '../../helpers/native-testing.js'
import { refusal } from '../../helpers/refusal.js'

type Coded = NonNullable<PartCase>
const gptq: Coded = {
  layout: 'gptq',
  codeType: 'u4',
  groupColumns: 32,
  scaleType: 'fp16',
  zeros: true,
}
const actOrder: Coded = { ...gptq, actOrder: true }
const awq: Coded = { ...gptq, layout: 'awq', scaleType: 'bf16' }
const packed: Coded = { layout: 'rows', codeType: 'u4', groupColumns: 16, scaleType: 'bf16' }
const blocks: Coded = {
  ...{ layout: 'rows', codeType: 'e4m3', groupRows: 16, groupColumns: 16 },
  scaleType: 'fp32',
}
const int8: Coded = {
  ...{ layout: 'rows', codeType: 'i8', scaleType: 'bf16' },
  activations: { scaling: 'token' },
}
const fixed: Coded = {
  ...{ layout: 'rows', codeType: 'e4m3', scaleType: 'bf16', groupRows: 4096 },
  activations: { scaling: 'static', inputScale: 0.25 },
}

const written: CodedModel[] = []
afterEach(() => {
  for (const model of written.splice(0)) model.remove()
})

function write(caseOf: (parameter: string, part: number) => PartCase): CodedModel {
  const model = writeCodedModel(caseOf)
  written.push(model)
  return model
}

function loadOf({ spec, manifest }: CodedModel, change: Partial<ModelLoad> = {}): ModelLoad {
  return { spec, manifest, dtype: 'bf16', keepFileDType: false, ...change }
}

/** Loads, compares every number, and gives everything back. Returns the pieces of each parameter. */
function expectNumbers(model: CodedModel, change: Partial<ModelLoad> = {}): Record<string, number> {
  const memory = openMemory()
  const load = loadOf(model, change)
  const loaded = new testing.Model(memory, load)
  expect(memory.statistics('weights').allocatedBytes).toBe(testing.weightBytes(load))
  const pieces: Record<string, number> = {}
  for (const [name, expected] of model.values) {
    const { values, pieces: count } = loaded.read(name)
    expect(Buffer.from(values.buffer).equals(Buffer.from(expected.buffer))).toBe(true)
    pieces[name.split('.').at(-1)!] = count!
  }
  loaded.dispose()
  expectNothing(memory)
  return pieces
}

function expectRefusal(call: () => unknown, code: string, sentence: RegExp): void {
  const message = expect.stringMatching(sentence) as string
  expect(refusal(call)).toMatchObject({ code, message })
}

function expectNothing(memory: Memory): void {
  memory.check()
  expect(memory.lines()).toEqual([])
}

describe.each<[string, PartCase]>([
  ['gptq', gptq],
  ['gptq, 3 bits', { ...gptq, codeType: 'u3' }],
  ['gptq, second version', { ...gptq, layout: 'gptq_v2', codeType: 'u2' }],
  ['gptq, act-order', actOrder],
  ['awq', awq],
  ['packed', packed],
  ['packed with zeros', { ...packed, zeros: true }],
  ['packed bytes', { ...packed, codeType: 'u8', groupColumns: 32 }],
  ['blocks', blocks],
  ['int8', int8],
  ['one scale', fixed],
])('%s', (_, one) => {
  test.each([undefined, 2 ** 20, 20000, 8192])('a ring of %s bytes', (ringLimit) => {
    expectNumbers(
      write(() => one),
      ringLimit === undefined ? {} : { ringLimit },
    )
  })
})

describe('parts of one parameter', () => {
  test('that are alike become one matrix', () => {
    for (const one of [gptq, awq, packed, blocks, int8, fixed]) {
      const pieces = expectNumbers(write(() => one))
      expect(pieces).toEqual({ qkv: 1, gateUp: 1, output: 1, down: 1, head: 1 })
    }
  })

  test('with orders of their own stay apart', () => {
    expect(expectNumbers(write(() => actOrder))).toMatchObject({ qkv: 3, gateUp: 2 })
  })

  test('of different kinds, plain ones among them', () => {
    const mixed: PartCase[] = [gptq, { ...gptq, codeType: 'u8' }, null]
    const model = write((name, part) => (name === 'qkv' ? mixed[part]! : null))
    expect(expectNumbers(model, { dtype: 'fp32' })).toEqual({ qkv: 3 })
  })

  test('whose blocks end inside a part', () => {
    const model = write(() => ({ ...blocks, groupRows: 48 }))
    expect(expectNumbers(model)).toMatchObject({ qkv: 3, gateUp: 1 })
  })
})

/** The up projection of a model, changed. */
function spoil(
  one: PartCase,
  change: (part: NativeWeightPart, source: NativeQuantizedSource) => void,
): CodedModel {
  const model = write(() => one)
  const entry = model.manifest.entries.find(({ name }) => name === 'layers.0.mlp.gateUp')!
  const part = structuredClone(entry.parts[1]!)
  entry.parts[1] = part
  change(part, part.quantized!)
  return model
}

const invalid = 'OCTAVO_CHECKPOINT_INVALID'
const mismatch = 'OCTAVO_CHECKPOINT_MISMATCH'
const unsupported = 'OCTAVO_UNSUPPORTED_MODEL'

test.each<[string, PartCase, Parameters<typeof spoil>[1], string, RegExp]>([
  [
    'codes of another shape',
    gptq,
    (p) => (p.shape = [7, 96]),
    mismatch,
    /codes are \[7, 96\] i32.*needs \[8, 96\]/,
  ],
  ['codes of another dtype', gptq, (p) => (p.dtype = 'u8'), mismatch, /codes are \[8, 96\] u8/],
  [
    'codes of other bytes',
    gptq,
    (p) => (p.bytes -= 4),
    invalid,
    /takes 3072 bytes, but the file gives it 3068/,
  ],
  ['codes past the end', gptq, (p) => (p.offset = 2 ** 40), invalid, /but the file ends at/],
  [
    'scales of another shape',
    gptq,
    (_, q) => (q.scales.shape = [96, 2]),
    mismatch,
    /scales are \[96, 2\].*\[2, 96\]/,
  ],
  ['scales of integers', gptq, (_, q) => (q.scales.dtype = 'i32'), unsupported, /scales are i32/],
  ['scales of no file', gptq, (_, q) => (q.scales.file = 3), invalid, /lies in file 3/],
  [
    'zeros of another shape',
    gptq,
    (_, q) => (q.zeros!.shape = [2, 13]),
    mismatch,
    /zeros are \[2, 13\]/,
  ],
  [
    'a short group index',
    actOrder,
    (_, q) => (q.groupIndex!.shape = [63]),
    mismatch,
    /group index are \[63\]/,
  ],
  ['rows that fill no words', gptq, (_, q) => (q.rows = 95), mismatch, /its parts make 191 rows/],
  ['no groups', gptq, (_, q) => (q.groupColumns = 0), invalid, /groups are of 1 by 0/],
  [
    'bytes in words',
    gptq,
    (_, q) => (q.codeType = 'i8'),
    unsupported,
    /do not fill the words of gptq/,
  ],
  [
    'quantised inputs of packed codes',
    packed,
    (_, q) => (q.activations.scaling = 'token'),
    unsupported,
    /u4 codes/,
  ],
  [
    'no input scale',
    fixed,
    (_, q) => (q.inputScale = null),
    mismatch,
    /static input scale is missing/,
  ],
  [
    'inputs in groups of none',
    int8,
    (_, q) => (q.activations = { scaling: 'group', group: 0 }),
    invalid,
    /groups of 0/,
  ],
])('refuses %s', (_, one, change, code, sentence) => {
  const model = spoil(one, change)
  const validate = (): void => testing.validateManifest(model.spec, model.manifest)
  expectRefusal(validate, code, sentence)
  const memory = openMemory()
  expectRefusal(() => new testing.Model(memory, loadOf(model)), code, sentence)
  expectNothing(memory)
})

function overwrite(model: CodedModel, offset: number, bytes: Uint8Array): void {
  const file = openSync(model.manifest.files[0]!, 'r+')
  writeSync(file, bytes, 0, bytes.length, offset)
  closeSync(file)
}

const bytesOf = (array: ArrayBufferView): Uint8Array =>
  new Uint8Array(array.buffer, array.byteOffset, array.byteLength)

test.each<
  [string, PartCase, (source: NativeQuantizedSource) => [number, ArrayBufferView], string, RegExp]
>([
  [
    'a group that is not there',
    actOrder,
    (q) => [q.groupIndex!.offset + 5 * 4, Int32Array.of(2)],
    invalid,
    /mlp\.gateUp, rows from 96 on: column 5 is of group 2, there are 2/,
  ],
  [
    'a negative group',
    actOrder,
    (q) => [q.groupIndex!.offset, Int32Array.of(-1)],
    invalid,
    /column 0 is of group -1/,
  ],
  [
    'an input scale of 0',
    fixed,
    (q) => [q.inputScale!.offset, Float32Array.of(0)],
    invalid,
    /input scale is 0/,
  ],
  [
    'an input scale of NaN',
    fixed,
    (q) => [q.inputScale!.offset, Float32Array.of(NaN)],
    invalid,
    /input scale is nan/,
  ],
  [
    'another stored shape',
    packed,
    (q) => [q.storedShape!.offset, BigInt64Array.of(64n, 96n)],
    mismatch,
    /stored shape is \[64, 96\], the model needs \[96, 64\]/,
  ],
])('finds %s before anything is taken', (_, one, change, code, sentence) => {
  const model = write(() => one)
  const entry = model.manifest.entries.find(({ name }) => name === 'layers.0.mlp.gateUp')!
  const [offset, values] = change(entry.parts[1]!.quantized!)
  overwrite(model, offset, bytesOf(values))
  testing.validateManifest(model.spec, model.manifest)
  const memory = openMemory()
  expectRefusal(() => new testing.Model(memory, loadOf(model)), code, sentence)
  expect(memory.statistics('weights').allocations).toBe(0)
  expectNothing(memory)
})

test('a load that fails or is cancelled in the middle leaves nothing', () => {
  const model = write(() => gptq)
  for (let failChunk = 1; failChunk < 12; failChunk++) {
    const memory = openMemory()
    const load = loadOf(model, { ringLimit: 8192, failChunk })
    expect(() => new testing.Model(memory, load)).toThrow(/was told to fail/)
    expectNothing(memory)
  }
  const memory = openMemory()
  const load = loadOf(model, { cancelled: true })
  expectRefusal(() => new testing.Model(memory, load), 'OCTAVO_CANCELLED', /cancelled/)
  expectNothing(memory)
})

test('a group index in order needs none on the device, whatever it is called', () => {
  const model = write(() => actOrder)
  for (const { parts } of model.manifest.entries) {
    for (const { quantized } of parts) {
      if (!quantized?.groupIndex) continue
      const order = Int32Array.from({ length: quantized.columns }, (_, k) => Math.floor(k / 32))
      overwrite(model, quantized.groupIndex.offset, bytesOf(order))
    }
  }
  const memory = openMemory()
  const loaded = new testing.Model(memory, loadOf(model))
  expect(loaded.read('layers.0.attention.qkv').pieces).toBe(1)
  loaded.dispose()
  expectNothing(memory)
})
