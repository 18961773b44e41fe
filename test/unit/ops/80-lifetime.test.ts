import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
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
