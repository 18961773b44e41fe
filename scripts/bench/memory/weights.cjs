// The way of the weights: a cold checkpoint read plainly by as many threads, then loaded; peaks beside their bars.
'use strict'
const { open } = require('node:fs/promises')
const { readFileSync, writeFileSync } = require('node:fs')
const { Engine } = require('../../../dist/index.js')
const { dropCache, writeSynthetic } = require('./synthetic.cjs')

const MiB = 2 ** 20
const readers = 4
const chunk = 8 * MiB

const seconds = (since) => Number(process.hrtime.bigint() - since) / 1e9

/**
 * Bytes a second of plain reads, `readers` at once: what the disk gives this process. On the CPU the bytes go to as
 * much fresh memory, as the weights do; else each reader uses one buffer over and over.
 */
async function plainRead(path, bytes, device) {
  dropCache(path)
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

async function loadCold({ folder, path }, device) {
  dropCache(path)
  globalThis.gc?.()
  residentPeak.reset()
  const before = process.memoryUsage.rss()
  let streaming = null // from the first bytes to the last
  const began = process.hrtime.bigint()
  const engine = await Engine.load(folder, {
    device,
    maxSequences: 1,
    maxBatchTokens: 16,
    memory: { kv: 32 * MiB },
    onProgress: () => (streaming = seconds(began)),
  })
  const whole = seconds(began)
  const peak = residentPeak.bytes()
  const memory = engine.memory()
  const plan = engine.plan()
  engine.dispose()
  const onHost = device === 'cpu' ? memory.allocatedBytes : 0
  const { weights, workspace } = memory.regions
  return {
    whole,
    streaming,
    devicePeak: weights.allocatedPeakBytes + workspace.allocatedPeakBytes,
    ring: plan.loading.find(({ tag }) => tag === 'weights.ring')?.bytes ?? 0,
    residentGrowth: peak === null ? null : peak - before - onHost,
  }
}

const mb = (bytes) => `${(bytes / 1e6).toFixed(0)} MB`
const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1]

async function run({ device, megabytes = 1500, rounds = 5, folder }) {
  const model = writeSynthetic(megabytes * 1e6, folder)
  try {
    const plain = []
    const loads = []
    for (let round = 0; round < rounds; round++) {
      plain.push(await plainRead(model.path, model.bytes, device))
      globalThis.gc?.()
      loads.push(await loadCold(model, device))
    }
    const disk = median(plain)
    const rate = model.bytes / median(loads.map(({ streaming }) => streaming))
    const devicePeak = Math.max(...loads.map((load) => load.devicePeak))
    const growth = Math.max(...loads.map(({ residentGrowth }) => residentGrowth ?? NaN))
    const [{ ring }] = loads
    return [
      ['checkpoint', mb(model.bytes), ''],
      [`plain read, cold, ${readers} threads`, `${mb(disk)}/s`, 'what the disk gives'],
      ['load, cold', `${mb(rate)}/s`, `${((100 * rate) / disk).toFixed(0)} % of it; bar 80 %`],
      ['device peak', (devicePeak / model.bytes).toFixed(4), '× model bytes; bar 1.05'],
      [
        'host growth beside the device',
        mb(growth),
        `bar ${mb(ring + 64 * MiB)}: ring ${mb(ring)} + 64 MiB`,
      ],
    ]
  } finally {
    model.remove()
  }
}

module.exports = { run, title: 'Weights stream' }
