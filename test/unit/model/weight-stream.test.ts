/** Loading more than the ring holds: a sparse file of zeros, so that 180 MiB cost nothing on disk. */
import { closeSync, mkdtempSync, openSync, rmSync, truncateSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { NativeModelSpec, NativeWeightManifest } from '../../../lib/native.js'
import { openMemory, testing, type ModelLoad } from '../../helpers/native-testing.js'
import { smallSpec } from '../../helpers/random-model.js'
import { refusal } from '../../helpers/refusal.js'

const MiB = 2 ** 20
const spec: NativeModelSpec = smallSpec(
  { vocabularySize: 45000, sampledVocabulary: 45000, hiddenSize: 1000, tiedEmbeddings: true },
  () => ({}),
  1,
)

let folder: string
let manifest: NativeWeightManifest
let totalBytes: number
let sliceBytes: number

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'octavo-stream-'))
  const path = join(folder, 'model.bin')
  totalBytes = 0
  const entries = testing.parametersOf(spec).map(({ name, shape }) => {
    const bytes = 4 * shape.reduce((product, extent) => product * extent, 1)
    const part = { file: 0, offset: totalBytes, bytes, dtype: 'fp32' as const, shape }
    totalBytes += bytes
    return { name, parts: [part] }
  })
  sliceBytes = 2.5 * MiB // a 64th of 172 MiB, down to a class of the pinned pool
  closeSync(openSync(path, 'w'))
  truncateSync(path, totalBytes)
  manifest = { files: [path], entries }
})
afterEach(() => rmSync(folder, { recursive: true }))

test('progress comes every 64 MiB and at the end, over a ring that the ledger shows', () => {
  const memory = openMemory()
  const seen: number[] = []
  const during: string[][] = []
  const load: ModelLoad = {
    spec,
    manifest,
    dtype: 'bf16',
    keepFileDType: false,
    onProgress(done, total) {
      expect(total).toBe(totalBytes)
      seen.push(done)
      during.push(memory.lines().map(({ region, tag, bytes }) => `${region} ${tag} ${bytes / MiB}`))
    },
  }
  const model = new testing.Model(memory, load)
  expect(seen).toHaveLength(3)
  seen.slice(0, -1).forEach((done, index) => {
    expect(done - (seen[index - 1] ?? 0)).toBeGreaterThanOrEqual(64 * MiB)
    expect(done - (seen[index - 1] ?? 0)).toBeLessThan(64 * MiB + sliceBytes)
  })
  expect(seen[2]).toBe(totalBytes)
  for (const lines of during) {
    expect(lines).toEqual([
      `weights weights ${testing.weightBytes(load) / MiB}`,
      `workspace weights.staging ${sliceBytes / MiB}`,
      `pinned weights.ring ${(8 * sliceBytes) / MiB}`,
    ])
  }
  expect(memory.lines().map(({ tag }) => tag)).toEqual(['weights'])
  expect(memory.statistics('workspace')).toMatchObject({
    allocatedBytes: 0,
    allocatedPeakBytes: sliceBytes,
  })
  model.dispose()
  expect(memory.lines()).toEqual([])
})

test('values on both sides of a slice arrive in their places', () => {
  const path = manifest.files[0]!
  const file = openSync(path, 'r+')
  const marks = [
    0,
    sliceBytes - 4,
    sliceBytes,
    3 * sliceBytes - 4,
    3 * sliceBytes,
    40 * sliceBytes + 8,
    45000 * 1000 * 4 - 4,
  ]
  marks.forEach((at, index) =>
    writeSync(file, Buffer.from(Float32Array.of(index + 1).buffer), 0, 4, at),
  )
  closeSync(file)
  for (const keepFileDType of [true, false]) {
    const memory = openMemory()
    const model = new testing.Model(memory, { spec, manifest, dtype: 'fp16', keepFileDType })
    const { values, dtype } = model.read('embedding')
    expect(dtype).toBe(keepFileDType ? 'fp32' : 'fp16')
    marks.forEach((at, index) => {
      expect(values[at / 4]).toBe(index + 1)
    })
    model.dispose()
    expect(memory.lines()).toEqual([])
  }
})

test('cancelling in the middle stops at the next chunk and leaves nothing', () => {
  const memory = openMemory()
  const onProgress = (): boolean => true
  const { code, message } = refusal(
    () =>
      new testing.Model(memory, {
        spec,
        manifest,
        dtype: 'bf16',
        keepFileDType: false,
        onProgress,
      }),
  )
  expect(code).toBe('OCTAVO_CANCELLED')
  expect(message).toMatch(/cancelled after 6[4-7](\.\d\d)? MiB of 17\d\.\d\d MiB/)
  expect(memory.lines()).toEqual([])
  memory.check()
})

test('a file that shrinks while it is read is refused, not crashed on, and leaves nothing', () => {
  const memory = openMemory()
  const onProgress = (): void => truncateSync(manifest.files[0]!, 70 * MiB)
  const { code, message } = refusal(
    () =>
      new testing.Model(memory, {
        spec,
        manifest,
        dtype: 'bf16',
        keepFileDType: false,
        onProgress,
      }),
  )
  expect(code).toBe('OCTAVO_CHECKPOINT_INVALID')
  expect(message).toMatch(/model\.bin ends at byte \d+, had \d+ when it was opened: it shrank/)
  expect(memory.lines()).toEqual([])
  memory.check()
})

test('an error thrown by the progress callback comes through and leaves nothing', () => {
  const memory = openMemory()
  const onProgress = (): never => {
    throw new Error('the bar broke')
  }
  const { message } = refusal(
    () =>
      new testing.Model(memory, { spec, manifest, dtype: 'fp32', keepFileDType: true, onProgress }),
  )
  expect(message).toBe('the bar broke')
  expect(memory.lines()).toEqual([])
  memory.check()
})
