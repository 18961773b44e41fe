// The way of the weights: a checkpoint read plainly by as many threads, the link measured with as many pinned buffers,
// then loads, cold and from the page cache; peaks beside their bars.
'use strict'
const { open } = require('node:fs/promises')
const { readFileSync, writeFileSync } = require('node:fs')
const { join } = require('node:path')
const { Engine } = require('../../../dist/index.js')
const { loadNative } = require('../../../dist/native.js')
const { dropCache, writeSynthetic } = require('./synthetic.cjs')

const { linkRates } = require('node-gyp-build')(join(__dirname, '..', '..', '..')).testing

const MiB = 2 ** 20
const readers = 4
const chunk = 8 * MiB

const seconds = (since) => Number(process.hrtime.bigint() - since) / 1e9
const used = ({ processBytes, totalBytes, freeBytes }) => processBytes ?? totalBytes - freeBytes
const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1]

/**
 * Bytes a second of plain reads, `readers` at once: what the disk, or the page cache, gives this process. On the CPU
 * the bytes go to as much fresh memory, as the weights do; else each reader uses one buffer over and over.
 */
async function plainRead(path, bytes, device) {
  const file = await open(path)
  const began = process.hrtime.bigint()
  const kept = device === 'cpu' ? Buffer.allocUnsafeSlow(bytes) : null
  let next = 0
  const reader = async () => {
    const buffer = kept ?? Buffer.allocUnsafeSlow(chunk)
    while (next < bytes) {
      const at = next
      next += chunk
      await file.read(buffer, kept ? at : 0, Math.min(chunk, bytes - at), at)
    }
  }
  await Promise.all(Array.from({ length: readers }, reader))
  const rate = bytes / seconds(began)
  await file.close()
  return rate
}

/** Highest resident size since the last reset; null where the system does not tell. */
const residentPeak = {
  reset() {
    try {
      writeFileSync('/proc/self/clear_refs', '5')
    } catch {
      // Only the growth since the start of the process is known then.
    }
  },
  bytes() {
    const [, kibibytes] =
      /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? []
    return kibibytes === undefined ? null : Number(kibibytes) * 1024
  },
}

/**
 * `rate` is of the stream in its stride, from the first progress (64 MiB) to the last bytes; `watched` asks the driver
 * for its figure meanwhile, which slows the load.
 */
async function load({ folder }, device, watched = false) {
  globalThis.gc?.()
  residentPeak.reset()
  const before = process.memoryUsage.rss()
  const usedBefore = used(loadNative().memoryUse(device))
  const progress = []
  let mostUsed = 0
  const began = process.hrtime.bigint()
  const engine = await Engine.load(folder, {
    device,
    maxSequences: 1,
    maxBatchTokens: 16,
    memory: { kv: 32 * MiB },
    onProgress: ({ doneBytes }) => {
      progress.push({ doneBytes, time: seconds(began) })
      if (watched) mostUsed = Math.max(mostUsed, used(loadNative().memoryUse(device)))
    },
  })
  const whole = seconds(began)
  const peak = residentPeak.bytes()
  const memory = engine.memory()
  const plan = engine.plan()
  engine.dispose()
  const onHost = device === 'cpu' ? memory.allocatedBytes : 0
  const { weights, workspace } = memory.regions
  const [first, last] = [progress[0], progress.at(-1)]
  return {
    whole,
    rate: (last.doneBytes - first.doneBytes) / (last.time - first.time),
    devicePeak: weights.allocatedPeakBytes + workspace.allocatedPeakBytes,
    driverPeak: watched ? mostUsed - usedBefore : null,
    ring: plan.loading.find(({ tag }) => tag === 'weights.ring')?.bytes ?? 0,
    residentGrowth: peak === null ? null : peak - before - onHost,
  }
}

/** Rounds of a plain read and a load; `prepare` leaves the file cold or in the page cache. */
async function rounds(model, device, count, prepare) {
  const plain = []
  const loads = []
  for (let round = 0; round < count; round++) {
    prepare()
    plain.push(await plainRead(model.path, model.bytes, device))
    globalThis.gc?.()
    prepare()
    loads.push(await load(model, device))
  }
  const whole = median(loads.map((each) => each.whole))
  return { read: median(plain), rate: median(loads.map(({ rate }) => rate)), whole, loads }
}

const mb = (bytes) => `${(bytes / 1e6).toFixed(0)} MB`
const gigabytes = (bytes) => Number((bytes / 1e9).toFixed(3))

/** The load beside whichever of file and link is slower. */
function shareRows(name, { read, rate, whole }, link, bytes) {
  const slowest = Math.min(read, link)
  const limit = { name: read < link ? name : 'the link', value: gigabytes(slowest) }
  const share = rate / slowest
  return [
    [`plain read, ${name}, ${readers} threads`, `${mb(read)}/s`, 'what it gives'],
    [
      `load from ${name}`,
      `${mb(rate)}/s`,
      `${(100 * share).toFixed(0)} % of ${limit.name}; bar 80 %; ${whole.toFixed(2)} s in all`,
      {
        ...{ case: `weights stream of ${mb(bytes)} from ${name}`, value: gigabytes(rate) },
        ...{ unit: 'GB/s', better: 'higher', floor: gigabytes(0.8 * slowest), limit },
      },
    ],
  ]
}

function peakRows(model, loads) {
  const devicePeak = Math.max(...loads.map((each) => each.devicePeak)) / model.bytes
  const driverPeak = Math.max(...loads.map((each) => each.driverPeak ?? 0)) / model.bytes
  const growth = Math.max(...loads.map(({ residentGrowth }) => residentGrowth ?? NaN))
  const bar = loads[0].ring + 64 * MiB
  const peak = (what, value) => ({
    ...{ case: `weights stream: ${what}`, value: Number(value.toFixed(4)), unit: '× model bytes' },
    ...{ better: 'lower', floor: 1.05 },
  })
  const rows = [
    [
      'device peak, by the ledger',
      devicePeak.toFixed(4),
      '× model bytes; bar 1.05',
      peak('device peak', devicePeak),
    ],
    [
      'host growth beside the device',
      mb(growth),
      `bar ${mb(bar)}: ring ${mb(loads[0].ring)} + 64 MiB`,
      {
        ...{ case: 'weights stream: host growth beside the device', unit: 'MB', better: 'lower' },
        ...{ value: Number((growth / 1e6).toFixed(1)), floor: Number((bar / 1e6).toFixed(1)) },
      },
    ],
  ]
  if (driverPeak > 0) {
    const kept = peak('device peak by the driver', driverPeak)
    rows.push([
      'device peak, by the driver',
      driverPeak.toFixed(4),
      '× model bytes; bar 1.05',
      kept,
    ])
  }
  return rows
}

async function run({ device, megabytes = 2200, rounds: count = 3, folder }) {
  const model = writeSynthetic(megabytes * 1e6, folder)
  try {
    const link = median(linkRates({ device, pieceBytes: 8 * MiB, pieces: 8, rounds: 21 }))
    await load(model, device) // contexts and kernels are the process's from here on
    const cold = await rounds(model, device, count, () => dropCache(model.path))
    const warm = await rounds(model, device, count, () => {})
    const watched = device === 'cpu' ? [] : [await load(model, device, true)]
    return [
      ['checkpoint', mb(model.bytes), ''],
      ['link, pinned, 8 × 8 MiB', `${mb(link)}/s`, 'what the link gives'],
      ...shareRows('the disk', cold, link, model.bytes),
      ...shareRows('the page cache', warm, link, model.bytes),
      ...peakRows(model, [...cold.loads, ...warm.loads, ...watched]),
    ]
  } finally {
    model.remove()
  }
}

module.exports = { run, title: 'Weights stream' }
