/** What a load with `tune` gives to the engine, and keeps of what it said. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { NativeDeviceInfo } from '../../../lib/native.js'
import type { NativeTuned } from '../../../lib/native-tuning.js'
import { keepTuning, tuneOptions } from '../../../lib/tune.js'
import { tuningReport } from '../../../lib/tuning.js'
import { readTuningFile, writeTuningFile } from '../../../lib/tuning-file.js'
import { FakeNativeEngine } from '../../fakes/native-engine.js'

const info = (id: string, name: string, multiprocessors: number): NativeDeviceInfo => ({
  ...{
    id,
    name,
    multiprocessors,
    computeMajor: 9,
    computeMinor: 0,
    totalBytes: 1,
    driverVersion: 1,
  },
})
const devices = [info('cpu', 'a CPU', 2), info('cuda:0', 'one', 132), info('cuda:1', 'two', 114)]
const addon = { version: '1.2.3', listDevices: () => devices }
const tuned: NativeTuned = {
  ...{ rows: 64, columns: 6144, depth: 4096, microseconds: 20, untunedMicroseconds: 23 },
  plan: { rows: 64, columns: 96, sharing: 'x' },
}

let folder: string
let file: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'octavo-tune-'))
  file = join(folder, 'tuned.json')
})
afterEach(() => rmSync(folder, { recursive: true }))

it.each([
  ['auto', 'one', 132],
  ['cuda', 'one', 132],
  ['cuda:0', 'one', 132],
  ['cuda:1', 'two', 114],
])('%s: what is known of its card alone', async (device, card, multiprocessors) => {
  await writeTuningFile(file, { octavo: '1.2.3', card: 'one', multiprocessors: 132 }, [tuned])
  expect(await tuneOptions(addon, device, { seconds: 3, file })).toEqual({
    ...{ seconds: 3, card, multiprocessors },
    known: card === 'one' ? [tuned] : [],
  })
})

it.each(['cpu', 'cuda:7'])('%s: nothing is read', async (device) => {
  const options = await tuneOptions(addon, device, {
    seconds: 3,
    file: '/no/such/folder/tuned.json',
  })
  expect(options).toEqual({ seconds: 3, card: '', multiprocessors: 0, known: [] })
})

it('keeps what was measured, by the name of the card that measured it', async () => {
  const native = new FakeNativeEngine()
  const other = { ...tuned, rows: 128 }
  native.tuned = {
    ...{ enabled: true, card: 'two', multiprocessors: 114, seconds: 1.5, unfinished: 3 },
    entries: [
      { ...tuned, wasKnown: true },
      { ...other, wasKnown: false },
    ],
  }
  await keepTuning(addon, native, { seconds: 3, file })
  const of = { octavo: '1.2.3', card: 'two', multiprocessors: 114 }
  expect(await readTuningFile(file, of)).toEqual([other])
  expect(tuningReport(native.tuning())).toEqual({
    ...{ enabled: true, seconds: 1.5, unfinished: 3 },
    entries: [
      { ...tuned, source: 'file' },
      { ...other, source: 'measured' },
    ],
  })
})

it('writes nothing where nothing was measured', async () => {
  const native = new FakeNativeEngine()
  native.tuned = { ...native.tuned, enabled: true, entries: [{ ...tuned, wasKnown: true }] }
  await keepTuning(addon, native, { seconds: 3, file })
  expect(existsSync(file)).toBe(false)
})
