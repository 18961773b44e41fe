import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { readSafetensors } from '../../../lib/checkpoint/safetensors.js'
import { fileOf, makeFolder, refusal, safetensorsOf } from './folders.js'

const read = (bytes: Uint8Array | string) =>
  readSafetensors(join(makeFolder({ 'm.safetensors': bytes }), 'm.safetensors'), 'm.safetensors')

test('offsets count from the start of the file', async () => {
  const file = safetensorsOf({ a: { dtype: 'F32', shape: [2] }, b: { dtype: 'F16', shape: [3] } })
  const [a, b] = await read(file)
  expect(a).toMatchObject({ name: 'a', offset: file.length - 14, bytes: 8 })
  expect(b).toMatchObject({ name: 'b', offset: file.length - 6, bytes: 6 })
})

test.each<[string, Uint8Array | string]>([
  ['m.safetensors is broken: it has 0 bytes, a header needs more than 8', ''],
  ['it has 5 bytes', 'abcde'],
  ['its header claims 3 bytes, but only 2 follow', fileOf('{}', 0, 3n)],
  [
    'its header claims 18446744073709551615 bytes, at most 100000000',
    fileOf('{}', 0, 2n ** 64n - 1n),
  ],
  ['is it a safetensors file?', '<!DOCTYPE html><html></html>'],
  ['Git LFS pointer', 'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n'],
  ['does not begin with "{"', fileOf('', 0)],
  ['does not begin with "{"', fileOf('[]', 0)],
])('refuses: %s', async (sentence, bytes) => {
  await expect(read(bytes)).rejects.toMatchObject(refusal('OCTAVO_CHECKPOINT_INVALID', sentence))
})

test('a header that is not UTF-8', async () => {
  const bytes = fileOf('{"a":1}', 0)
  bytes[10] = 0xff
  const problem = refusal(
    'OCTAVO_CHECKPOINT_INVALID',
    'the header of m.safetensors is not valid UTF-8',
  )
  await expect(read(bytes)).rejects.toMatchObject(problem)
})

test('every truncation of a file is refused', async () => {
  const whole = safetensorsOf({ a: { dtype: 'F32', shape: [2] } })
  for (let bytes = 0; bytes < whole.length; bytes++) {
    await expect(read(whole.subarray(0, bytes))).rejects.toMatchObject({
      code: 'OCTAVO_CHECKPOINT_INVALID',
    })
  }
})

test('a pipe does not hang', async () => {
  const path = join(makeFolder(), 'm.safetensors')
  execFileSync('mkfifo', [path])
  const problem = refusal('OCTAVO_IO_FAILED', 'not a regular file')
  await expect(readSafetensors(path, 'm.safetensors')).rejects.toMatchObject(problem)
})
