import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Worker } from 'node:worker_threads'
import { Device, liveObjects } from '../../../lib/ops/index.js'
import { expectNothingLive, nothingLive } from '../../helpers/nothing-live.js'

const root = join(__dirname, '../../..')

/** Plain JavaScript for other threads and processes: the addon without the SDK. */
const openOne = `
  const native = require('node-gyp-build')(${JSON.stringify(root)})
  const device = native.ops.open({ id: 'cpu', threads: 2 })
  const buffer = native.ops.createBuffer({ device, bytes: 1 << 20, tag: 'test' })
  const matrix = { buffer, dtype: 'fp32', offset: 0, rows: 64, columns: 1024, stride: 1024 }
`
const work = `for (let i = 0; i < 50; i++) native.ops.add(device, { y: matrix, x: matrix });`

function collectGarbage(): () => void {
  setFlagsFromString('--expose-gc')
  return runInNewContext('gc') as () => void
}

/** Drops what `make` returns and waits until `gone`; the warnings since, as [kind, where]. */
async function warningsAfterDropping(
  make: () => unknown,
  gone: () => boolean,
): Promise<[string, string][]> {
  const emit = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
  try {
    make()
    const gc = collectGarbage()
    for (let tries = 0; tries < 200 && !gone(); tries++) {
      gc()
      await sleep(5)
    }
    const calls = emit.mock.calls as unknown as [string, { code: string; detail: string }][]
    const ours = calls.filter(([, { code }]) => code === 'OCTAVO_UNDISPOSED')
    return ours.map(([message, { detail }]) => [message.split(' was')[0]!, detail])
  } finally {
    emit.mockRestore()
  }
}

test('a buffer that is dropped is released and named', async () => {
  using device = Device.open('cpu', { threads: 1 })
  const make = () => [device.buffer('fp32', 100), device.buffer('fp32', 9).dispose()]
  const warnings = await warningsAfterDropping(make, () => liveObjects().buffers === 0)
  expect(warnings).toEqual([
    ['a DeviceBuffer', expect.stringMatching(/^created\n\s+at .*80-lifetime\.test/)],
  ])
  expect(device.ledger()).toEqual([])
})

test('a device that is dropped is released and named, with what lies on it', async () => {
  const make = () => Device.open('cpu', { threads: 1 }).buffer('fp32', 100).length
  const warnings = await warningsAfterDropping(make, () => liveObjects().devices === 0)
  expectNothingLive()
  expect(warnings).toContainEqual([
    'a Device',
    expect.stringMatching(/^created\n\s+at .*80-lifetime\.test/),
  ])
})

test('buffers that went with their device are not named', async () => {
  let collected = false
  const registry = new FinalizationRegistry(() => (collected = true))
  const make = (): void => {
    const device = Device.open('cpu', { threads: 1 })
    registry.register(device.buffer('fp32', 100), undefined)
    device.dispose()
  }
  expect(await warningsAfterDropping(make, () => collected)).toEqual([])
  expectNothingLive()
})

test('a buffer keeps its device alive', async () => {
  const buffer = (() => Device.open('cpu', { threads: 1 }).from('i32', 2, [5, 6]))()
  const gc = collectGarbage()
  for (let tries = 0; tries < 5; tries++) {
    gc()
    await sleep(5)
  }
  expect(Array.from(buffer.read())).toEqual([5, 6])
  buffer.device.dispose()
  expectNothingLive()
})

test('a worker that ends with everything open takes it all along', async () => {
  using mine = Device.open('cpu', { threads: 1 })
  for (let round = 0; round < 10; round++) {
    const code = `${openOne}${work}require('node:worker_threads').parentPort.postMessage(native.liveObjects())`
    const worker = new Worker(code, { eval: true })
    const message = new Promise((resolve) => worker.once('message', resolve))
    const exit = new Promise((resolve) => worker.once('exit', resolve))
    expect(await message).toEqual({ ...nothingLive, devices: 1, buffers: 1, streams: 1 })
    expect(await exit).toBe(0)
    expect(liveObjects()).toEqual({ ...nothingLive, devices: 1, streams: 1 })
  }
  expect(mine.ledger()).toEqual([])
})

test('workers that are terminated at work do no harm', async () => {
  const workers = Array.from({ length: 6 }, () => {
    const worker = new Worker(`${openOne}for (;;) { ${work} }`, { eval: true })
    return { worker, online: new Promise((resolve) => worker.once('online', resolve)) }
  })
  for (const { online } of workers) await online
  await sleep(150)
  await Promise.all(workers.map(({ worker }) => worker.terminate()))
  expectNothingLive()
})

test.each(['', 'process.exit(7)', 'native.ops.close({ device })', 'throw new Error("on purpose")'])(
  'a process ends cleanly with devices open: "%s"',
  (last) => {
    const { status, signal } = spawnSync(process.execPath, ['-e', openOne + work + last], {
      cwd: root,
    })
    expect(signal).toBeNull()
    expect(status).toBe(last.startsWith('process') ? 7 : last.startsWith('throw') ? 1 : 0)
  },
)
