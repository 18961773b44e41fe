// Load, generate, dispose, 150 times in one process, of which the last hundred count: what the device and the
// process hold after each. One malloc arena and a small V8 nursery keep the two's own caches out of the slope.
//   MALLOC_ARENA_MAX=1 node --expose-gc --max-semi-space-size=1 scripts/bench/memory/reload.cjs
//     [--device cpu] [--model FOLDER] [--times 150] [--json]
'use strict'
const { execFileSync } = require('node:child_process')
const { join } = require('node:path')
const { parseArgs } = require('node:util')
const { Engine } = require('../../../dist/index.js')
const { loadNative } = require('../../../dist/native.js')
const { testing } = loadNative()

const greedy = { temperature: 0, ignoreEos: true, maxNewTokens: 16 }

/** By process where the driver tells, else all that is in use on the device. */
const counted = ({ processBytes, totalBytes, freeBytes }) => processBytes ?? totalBytes - freeBytes

async function once(device, model) {
  const engine = await Engine.load(model, {
    device,
    maxSequences: 8,
    memory: { kv: 8 * 2 ** 20 },
    ...(device === 'cpu' && { threads: 2 }),
  })
  const sessions = Array.from({ length: 4 }, () => engine.createSession())
  await Promise.all(sessions.map((session) => session.generate([1, 2, 3, 4], greedy).result))
  const { driver, allocatedBytes } = engine.memory()
  for (const session of sessions) session.dispose()
  engine.dispose()
  return { loaded: counted(driver), allocated: allocatedBytes }
}

/** Least squares of `values` over 0, 1, 2 …: what is added each time. */
function slope(values) {
  const middle = (values.length - 1) / 2
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length
  let above = 0
  let below = 0
  values.forEach((value, index) => {
    above += (index - middle) * (value - mean)
    below += (index - middle) ** 2
  })
  return above / below
}

/** Samples after each time; the first third is left out of the slope: caches of the allocator and of V8 fill. */
async function reload({ device = 'cpu', model, times = 150 } = {}) {
  const samples = []
  for (let time = 0; time < times; time++) {
    const held = await once(device, model)
    await new Promise((resolve) => setTimeout(resolve, 0))
    globalThis.gc?.()
    const left = counted(loadNative().memoryUse(device))
    samples.push({ ...held, left, rss: process.memoryUsage.rss(), malloc: testing.mallocBytes() })
  }
  const kept = samples.slice(Math.floor(times / 3))
  return {
    device,
    times,
    source: loadNative().memoryUse(device).processBytes === null ? 'device' : 'process',
    loadedBytes: [...new Set(kept.map(({ loaded }) => loaded))],
    allocatedBytes: [...new Set(kept.map(({ allocated }) => allocated))],
    leftBytes: [...new Set(kept.map(({ left }) => left))],
    firstRss: kept[0].rss,
    lastRss: kept.at(-1).rss,
    rssSlope: slope(kept.map(({ rss }) => rss)),
    mallocSlope: slope(kept.map(({ malloc }) => malloc)),
    live: loadNative().liveObjects(),
  }
}

async function main() {
  const { values } = parseArgs({
    options: {
      device: { type: 'string', default: 'cpu' },
      model: { type: 'string' },
      times: { type: 'string', default: '150' },
      json: { type: 'boolean' },
    },
  })
  const { device, model } = values
  const result = await reload({ device, model, times: Number(values.times) })
  if (values.json) console.log(JSON.stringify(result))
  else console.dir(result)
}

const spread = (values) => Math.max(...values) - Math.min(...values)

/** In a process of its own: what ran before would be in its figures. */
async function run({ device, times = 150 }) {
  const flags = ['--expose-gc', '--max-semi-space-size=1', join(__dirname, 'reload.cjs'), '--json']
  const rest = ['--device', device, '--times', String(times)]
  const env = { ...process.env, MALLOC_ARENA_MAX: '1' }
  const text = execFileSync(process.execPath, [...flags, ...rest], { encoding: 'utf8', env })
  const { leftBytes, loadedBytes, rssSlope, mallocSlope, live, source } = JSON.parse(text)
  const counting = `${Math.ceil((times * 2) / 3)} loads of ${times} in one process`
  return [
    ['loads in one process', times, `the driver counts for the ${source}`],
    ['device bytes while loaded, by the driver', loadedBytes.join(', '), 'one figure'],
    ['device bytes after, by the driver', leftBytes.join(', '), 'one figure'],
    [
      'they differ by',
      `${spread(leftBytes)} bytes`,
      'bar 0',
      {
        ...{ case: `device bytes after load and dispose differ by, ${counting}`, unit: 'bytes' },
        ...{ value: spread(leftBytes), better: 'lower', floor: 0 },
      },
    ],
    [
      'resident growth a load',
      `${(rssSlope / 1024).toFixed(1)} KiB`,
      'bar 128 KiB of 10 MiB taken',
      {
        ...{ case: `resident growth a load, ${counting}`, unit: 'KiB' },
        ...{ value: Number((rssSlope / 1024).toFixed(1)), better: 'lower', floor: 128 },
      },
    ],
    [
      'growth of what malloc has handed out a load',
      `${(mallocSlope / 1024).toFixed(1)} KiB`,
      'what V8 compiles is in it: 0.1 KiB after 200 loads',
      {
        ...{ case: `growth of what malloc has handed out a load, ${counting}`, unit: 'KiB' },
        ...{ value: Number((mallocSlope / 1024).toFixed(1)), better: 'lower', floor: null },
      },
    ],
    ['objects left of each kind', Object.values(live).join(', '), 'bar: all 0'],
  ]
}

module.exports = { run, title: 'Load, generate, dispose, over and over' }
if (require.main === module) {
  main().catch((error) => {
    console.error(error)
    process.exitCode = 1
  })
}
