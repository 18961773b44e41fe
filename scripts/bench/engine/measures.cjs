// One function a kind of case: a bar and its engine in, a value in the bar's unit out, with notes on stderr.
'use strict'
const { loadNative } = require('../../../dist/native.js')
const { distributionOf } = require('../../../dist/bench/distribution.js')
const { measureLatency } = require('../../../dist/bench/latency.js')
const { promptOf } = require('../../../dist/bench/prompts.js')
const { runRequest } = require('../../../dist/bench/request-figures.js')
const { serveSessions } = require('../../../dist/bench/serving.js')
const { servingFigures } = require('../../../dist/bench/serving-figures.js')
const { measureThroughput } = require('../../../dist/bench/throughput.js')
const { Engines } = require('./engines.cjs')
const { MemoryCurve } = require('./memory-curve.cjs')

const never = new AbortController().signal
const note = (text) => console.error(`  ${text}`)
const us = (value) => value.toFixed(1)

async function throughputOf(bar, engine, repeats, warmUp = 1) {
  const { batch, input, output } = bar
  const shape = { batch, inputTokens: input, outputTokens: output, seed: 1 }
  const mapped = () => engine.memory().kv.pages.mapped
  const before = mapped()
  const figures = await measureThroughput(engine, { ...shape, warmUp, repeats, signal: never })
  const { plan, upload, launch, book, tell, total, wait } = figures.host
  note(`step ${figures.stepMs.toFixed(3)} ms, first token ${figures.ttftMs.toFixed(1)} ms`)
  note(
    `host ${us(total)} µs: plan ${us(plan)}, upload ${us(upload)}, launch ${us(launch)}, book ${us(book)}, ` +
      `tell ${us(tell)}; wait ${us(wait)}`,
  )
  note(`pages of KV: ${before} before, ${mapped()} after`)
  return figures
}

async function batch(bar, { engines, repeats }) {
  const { engine } = await engines.of(bar)
  return (await throughputOf(bar, engine, repeats)).tokensPerSecond
}

async function host(bar, { engines, repeats }) {
  const { engine } = await engines.of(bar)
  return (await throughputOf(bar, engine, repeats)).host.total
}

/** Of the decode steps, all of which must have been replayed. */
async function launches(bar, { engines, repeats }) {
  const { engine } = await engines.of(bar)
  const replaysOf = ({ buckets }) => buckets.reduce((sum, { replays }) => sum + replays, 0)
  const before = engine.graphs()
  await throughputOf(bar, engine, repeats)
  const after = engine.graphs()
  const fallbacks = after.fallbacks - before.fallbacks
  if (fallbacks > 0) throw new Error(`${fallbacks} steps of decodes alone were not replayed`)
  return (after.launches - before.launches) / (replaysOf(after) - replaysOf(before))
}

async function firstToken(bar, { engines, repeats }) {
  const { engine } = await engines.of(bar)
  const shape = { inputTokens: bar.input, outputTokens: 2, warmUp: 2, seed: 1, signal: never }
  const { ttftMs } = await measureLatency(engine, { ...shape, repeats: Math.max(repeats, 5) })
  note(`first token ${ttftMs.min.toFixed(2)} to ${ttftMs.max.toFixed(2)} ms`)
  return ttftMs.p50
}

/** The median of fresh engines; the first one also opens the device and is left out. */
async function construct(bar, { engines, repeats }) {
  await engines.of(bar, true)
  const seconds = []
  for (let time = 0; time < repeats; time++) seconds.push((await engines.of(bar, true)).seconds)
  note(
    `loads ${seconds.map((value) => value.toFixed(3)).join(', ')} s, weights made on the device included`,
  )
  return distributionOf(seconds).p50
}

/** Gaps of sequences that decode, alone and while a long prompt is computed: p99 beside the median of before. */
async function beside(bar, { engines }) {
  const { engine } = await engines.of(bar)
  const vocabulary = engine.model.vocabularySize
  const prompt = (inputTokens, index) =>
    promptOf({ inputTokens, blocks: [] }, index, { vocabulary, seed: 1, blockTokens: 1 })
  const start = (inputTokens, outputTokens, index, onTokens) => {
    const arrival = performance.now()
    const plan = { prompt: prompt(inputTokens, index), outputTokens, arrival, beginning: arrival }
    return runRequest(engine, { ...plan, seed: 1, signal: never, onTokens })
  }
  const gaps = { before: [], during: [] }
  let phase = 'starting'
  let decoding = 0
  let long = Promise.resolve()
  const runs = Array.from({ length: bar.batch }, (_, index) => {
    let last = null
    let got = 0
    return start(bar.input, bar.output, index, () => {
      const now = performance.now()
      if (last === null && ++decoding === bar.batch) phase = 'before'
      else if (last !== null) gaps[phase]?.push(now - last)
      last = now
      // A third of the way all have decoded alone long enough.
      if (++got !== Math.floor(bar.output / 3) || phase !== 'before') return
      phase = 'during'
      long = start(bar.prompt, 1, bar.batch, () => (phase = 'after'))
    })
  })
  await Promise.all(runs)
  await long
  const [before, during] = [distributionOf(gaps.before), distributionOf(gaps.during)]
  if (during === null) throw new Error('nothing decoded while the long prompt was computed')
  note(`alone p50 ${before.p50.toFixed(2)}, p99 ${before.p99.toFixed(2)} ms`)
  note(`beside p50 ${during.p50.toFixed(2)}, p99 ${during.p99.toFixed(2)} ms`)
  return during.p99 / before.p50
}

/** What others hold of the device before our engine comes; only needed where the driver does not tell processes apart. */
function baseBytes(device) {
  const { processBytes, totalBytes, freeBytes } = loadNative().memoryUse(device)
  return processBytes === null ? totalBytes - freeBytes : 0
}

async function curveOf(bar, { engines, device, curves }, work) {
  engines.close()
  const base = baseBytes(device)
  const { engine } = await engines.of(bar)
  const curve = new MemoryCurve(engine, base)
  try {
    await work(engine)
  } finally {
    curve.end()
  }
  const { samples, overMebibytes, longestGapMs } = curve
  note(`${samples.length} samples, at most ${longestGapMs.toFixed(0)} ms apart`)
  note(`most over the limit: ${overMebibytes.toFixed(1)} MiB`)
  if (curves !== undefined) curve.write(curves, bar.case)
  return curve
}

async function limit(bar, run) {
  const curve = await curveOf(bar, run, (engine) => throughputOf(bar, engine, 1))
  return curve.overMebibytes
}

/** Requests that failed in any way but a refusal that states its reason; bytes over the limit count as one more. */
async function sessions(bar, run) {
  const typed = ['OCTAVO_REQUEST_TOO_LARGE', 'OCTAVO_CONTEXT_EXCEEDED', 'OCTAVO_QUOTA_EXCEEDED']
  const range = ([min, max]) => ({ min, max })
  let figures
  const curve = await curveOf(bar, run, async (engine) => {
    const served = await serveSessions(engine, {
      sessions: bar.sessions,
      durationMs: (run.seconds ?? bar.seconds) * 1000,
      input: range(bar.input),
      output: range(bar.output),
      ...{ seed: 1, blockTokens: 1, signal: never },
    })
    figures = servingFigures(served, { ttftMs: null, itlMs: null, e2eMs: null }, false)
  })
  const { requests, completed, refused, tokensPerSecond, ttftMs, itlMs } = figures
  note(`${completed} of ${requests} requests, refused ${JSON.stringify(refused)}`)
  note(
    `${tokensPerSecond.toFixed(0)} tok/s, TTFT p99 ${ttftMs.p99.toFixed(0)} ms, ITL p99 ${itlMs.p99.toFixed(1)} ms`,
  )
  run.engines.close() // throws where the ledger is not exact
  const failures = Object.entries(refused).filter(([code]) => !typed.includes(code))
  const failed = failures.reduce((sum, [, count]) => sum + count, 0)
  return failed + (curve.overMebibytes > 0 ? 1 : 0)
}

const measures = { batch, host, launches, firstToken, construct, beside, limit, sessions }

/** Values of the bars that could be measured; a case that fails is told and left out. */
async function measureAll(bars, options) {
  const run = { ...options, engines: new Engines(options) }
  const measured = []
  for (const bar of bars) {
    console.error(bar.case)
    try {
      const value = await measures[bar.measure](bar, run)
      if (!Number.isFinite(value)) throw new Error(`it measured ${value}`)
      measured.push({ case: bar.case, unit: bar.unit, value })
    } catch (error) {
      note(`failed: ${error.message}${error.code === undefined ? '' : ` (${error.code})`}`)
    }
  }
  run.engines.close()
  return measured
}

module.exports = { measureAll }
