// Section `replay`: the KV pool under real traces. Per trace and KV shape: what was taken and not used, what was stuck
// on partly used pages, and how many pages the sessions that stay idle pin.
'use strict'
const { join } = require('node:path')
const { compression, contiguous, peakOf } = require('./sessions.cjs')
const { Replay } = require('./replay.cjs')
const { hasTraces, traces } = require('./traces.cjs')

const SPARE = 1.1 // the pool is so much larger than the peak needs
const SURVIVORS = 10 // every tenth session alive at the peak stays idle

/** KV bytes of a token; bf16. V2-Lite keeps one latent of 512 + 64 a layer. */
const models = {
  'Qwen3-8B': 36 * 2 * 8 * 128 * 2,
  'Llama-3-8B': 32 * 2 * 8 * 128 * 2,
  'SmolLM2-135M': 30 * 2 * 3 * 64 * 2,
  'V2-Lite latents': 27 * (512 + 64) * 2,
}
const shapes = [
  ...Object.keys(models).map((model) => ({ model, blockSize: 32 })),
  { model: 'SmolLM2-135M', blockSize: 16 },
  { model: 'V2-Lite latents', blockSize: 16 },
].map((shape) => ({ ...shape, tokenBytes: models[shape.model] }))

function replay(testing, requests, shape, factor, compacts) {
  const { blockSize, tokenBytes } = shape
  const blocksOf = ({ input, output }) => Math.ceil((input + output) / blockSize)
  const blocks = Math.ceil(SPARE * peakOf(requests, factor, blocksOf).value)
  const memory = new testing.Memory('cpu')
  const pool = new testing.Pool(memory, { blocks, blockBytes: blockSize * tokenBytes })
  const player = new Replay(pool, shape, requests, factor, compacts)
  player.run(peakOf(requests, factor, () => 1).time)
  const live = player.alive.size
  for (const session of [...player.alive].filter((_, index) => index % SURVIVORS === 0))
    session.idle = true
  player.run()
  const idle = pool.pages()
  const between = { ...player.compaction }
  while (player.compact(false));
  pool.trim(0)
  pool.check()
  const after = pool.pages()
  pool.dispose()
  memory.dispose()
  return {
    live,
    steps: player.steps,
    peak: player.peak,
    meanStuckShare: player.meanStuckShare,
    between,
    idleShare: idle.used / idle.packed,
    packedShare: after.mapped / after.packed,
    lastMoves: player.compaction.moves - between.moves,
  }
}

const percent = (share) => Number((100 * share).toFixed(3))

function rowsOf(name, requests, factor, shape, made, plain) {
  const { peak } = made
  const gigabytes = (bytes) => Number((bytes / 1e9).toFixed(3))
  const reserved = contiguous(requests, factor, shape.tokenBytes)
  const label = `${name}, ${shape.model}, blocks of ${shape.blockSize}`
  const row = (what, value, unit, floor, goal, peer = null) => ({
    case: `${label}: ${what}`,
    value,
    unit,
    better: 'lower',
    floor,
    goal,
    peer,
  })
  const peer = { name: 'contiguous, own final length', value: gigabytes(reserved.ownBytes) }
  const longest = gigabytes(reserved.longestBytes)
  return [
    row('F_res', percent(1 - peak.liveBytes / peak.mappedBytes), '%', 5, null),
    row('stuck slack at the peak', percent(peak.stuckShare), '%', 3, null),
    row('stuck slack, mean', percent(made.meanStuckShare), '%', 3, null),
    row('idle sessions over the packed floor', Number(made.idleShare.toFixed(3)), '×', 1.4, 1),
    row('the same, compacted at idle', Number(made.packedShare.toFixed(3)), '×', 1.4, 1),
    row('the same, never compacted', Number(plain.idleShare.toFixed(3)), '×', null, null),
    row(
      `peak (longest request for each: ${longest} GB)`,
      gigabytes(peak.mappedBytes),
      'GB',
      null,
      null,
      peer,
    ),
  ]
}

function describe(name, factor, shape, made, plain) {
  const { between, live, steps } = made
  const slice = between.slices === 0 ? 0 : between.microseconds / between.slices
  console.log(
    `${name}, ${shape.model}, blocks of ${shape.blockSize}: arrivals × ${factor.toFixed(2)}, ${live} live sessions, ` +
      `${steps} steps; ${between.moves} blocks moved in ${between.slices} of them, ` +
      `${slice.toFixed(0)} µs a plan, the longest ${between.longestMicroseconds.toFixed(0)} µs; ` +
      `${made.lastMoves} more at idle; never compacted: stuck slack ` +
      `${percent(plain.peak.stuckShare)} % at the peak, ${percent(plain.meanStuckShare)} % in the mean`,
  )
}

/** `run` of the section: every figure with its bar. */
function run() {
  if (!hasTraces()) {
    console.log(
      'the traces are not there (OCTAVO_SHARED names the folder that has traces/); left out',
    )
    return []
  }
  const { testing } = require('node-gyp-build')(join(__dirname, '..', '..', '..'))
  const rows = Object.entries(traces).flatMap(([name, read]) => {
    const requests = read()
    return shapes.flatMap((shape) => {
      const factor = compression(requests, shape.tokenBytes)
      const made = replay(testing, requests, shape, factor, true)
      const plain = replay(testing, requests, shape, factor, false)
      describe(name, factor, shape, made, plain)
      return rowsOf(name, requests, factor, shape, made, plain)
    })
  })
  return rows.map((row) => {
    const { case: what, value, unit, floor } = row
    const bar =
      floor === null ? '' : `at most ${floor} ${unit}: ${value <= floor ? 'met' : 'MISSED'}`
    return [what, `${value} ${unit}`, bar, row]
  })
}

module.exports = { title: 'Real traces on the KV pool: what is stranded', run }
