import { join } from 'node:path'
import { isInsideFolder } from '../../../lib/checkpoint/shard-index.js'
import { readTensors } from '../../../lib/checkpoint/tensors.js'
import { fileOf, makeFolder, refusal, safetensorsOf } from './folders.js'

const index = 'model.safetensors.index.json'
const one = (name: string) => safetensorsOf({ [name]: { dtype: 'F32', shape: [2] } })

test('shards in any order, each tensor with its file', async () => {
  const folder = makeFolder({
    [index]: {
      metadata: { total_size: 16 },
      weight_map: { a: 'z.safetensors', b: 'y.safetensors' },
    },
    'y.safetensors': one('b'),
    'z.safetensors': one('a'),
  })
  const table = await readTensors(folder, index)
  expect(table.files).toEqual([join(folder, 'y.safetensors'), join(folder, 'z.safetensors')])
  expect(table.tensors.get('a')).toMatchObject({ file: 1 })
  expect(table.tensors.get('b')).toMatchObject({ file: 0 })
})

test('a tensor that the index forgot is found; one that it places elsewhere counts once', async () => {
  const folder = makeFolder({
    [index]: { weight_map: { a: 'x.safetensors', b: 'x.safetensors', d: 'y.safetensors' } },
    'x.safetensors': safetensorsOf({
      a: { dtype: 'F32', shape: [1] },
      b: { dtype: 'F32', shape: [3] },
    }),
    'y.safetensors': safetensorsOf({
      b: { dtype: 'F32', shape: [2] },
      c: { dtype: 'F16', shape: [1] },
      d: { dtype: 'F32', shape: [1] },
    }),
  })
  const { tensors } = await readTensors(folder, index)
  expect([...tensors.keys()].sort()).toEqual(['a', 'b', 'c', 'd'])
  expect(tensors.get('b')).toMatchObject({ file: 0, shape: [3] })
})

test.each<[string, object]>([
  ['"weight_map" is missing', {}],
  ['"weight_map" must be an object, got [1]', { weight_map: [1] }],
  ['"weight_map" is empty', { weight_map: {} }],
  ['the file of "a" must be a string, got 3', { weight_map: { a: 3 } }],
  [
    '"../x.safetensors" is not the name of a *.safetensors file in the folder',
    { weight_map: { a: '../x.safetensors' } },
  ],
  ['"/etc/passwd" is not the name', { weight_map: { a: '/etc/passwd' } }],
  [
    'says that "b" is in x.safetensors, but it is not',
    { weight_map: { a: 'x.safetensors', b: 'x.safetensors' } },
  ],
  [
    'tensor "a" is both in x.safetensors and in y.safetensors',
    { weight_map: { b: 'x.safetensors', c: 'y.safetensors' } },
  ],
  [
    'it names 10001 files',
    {
      weight_map: Object.fromEntries(
        Array.from({ length: 10_001 }, (_, i) => [`t${i}`, `${i}.safetensors`]),
      ),
    },
  ],
])('refuses: %s', async (sentence, content) => {
  const tensors = (...names: string[]) =>
    Object.fromEntries(names.map((name) => [name, { dtype: 'F32', shape: [2] }]))
  const x = sentence.includes('both') ? safetensorsOf(tensors('a', 'b')) : one('a')
  const folder = makeFolder({
    [index]: content,
    'x.safetensors': x,
    'y.safetensors': safetensorsOf(tensors('a', 'c')),
  })
  await expect(readTensors(folder, index)).rejects.toMatchObject(
    refusal('OCTAVO_CHECKPOINT_INVALID', sentence),
  )
})

test('a shard that is missing or broken is named', async () => {
  const map = { weight_map: { a: 'x.safetensors' } }
  const missing = refusal('OCTAVO_IO_FAILED', /x\.safetensors: it does not exist/)
  await expect(readTensors(makeFolder({ [index]: map }), index)).rejects.toMatchObject(missing)
  const broken = refusal('OCTAVO_CHECKPOINT_INVALID', 'x.safetensors is broken')
  const folder = makeFolder({ [index]: map, 'x.safetensors': fileOf('{', 0) })
  await expect(readTensors(folder, index)).rejects.toMatchObject({
    code: 'OCTAVO_CHECKPOINT_INVALID',
  })
  const short = makeFolder({ [index]: map, 'x.safetensors': 'abc' })
  await expect(readTensors(short, index)).rejects.toMatchObject(broken)
})

test.each([
  ['model-00001-of-00002.safetensors', true],
  ['sub/model.safetensors', true],
  ['..model.safetensors', true],
  ['', false],
  ['model.bin', false],
  ['../model.safetensors', false],
  ['sub/../../model.safetensors', false],
  ['sub/..', false],
  ['./model.safetensors', false],
  ['/model.safetensors', false],
  ['sub//model.safetensors', false],
  ['C:\\model.safetensors', false],
  ['..\\model.safetensors', false],
  ['C:model.safetensors', false],
  ['a\0/../x.safetensors', false],
])('%j inside the folder: %s', (name, inside) => {
  expect(isInsideFolder(name)).toBe(inside)
})
