// A soak of sessions that come, go and abort, audited all the while: the residual of every sample, as a histogram.
'use strict'
const { Engine } = require('../../../dist/index.js')

const MB = 1e6
const edges = [0, 1, 2, 4, 8, 12, 16, 32, 64, Infinity] // MB, upper ends

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/** A small generator of its own: the same traffic every time. */
function randomOf(seed) {
  let state = seed
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

/** One caller: sessions one after the other; half end, a quarter are aborted, a quarter are left mid-stream. */
async function caller(engine, seed, isOver) {
  const random = randomOf(seed)
  while (!isOver()) {
    const session = engine.createSession()
    const abort = new AbortController()
    const prompt = Array.from(
      { length: 1 + Math.floor(random() * 200) },
      () => 3 + Math.floor(random() * 400),
    )
    const run = session.generate(prompt, {
      maxNewTokens: 1 + Math.floor(random() * 150),
      temperature: random() < 0.5 ? 0 : 0.8,
      ignoreEos: true,
      signal: abort.signal,
    })
    const fate = random()
    let left = 1 + Math.floor(random() * 40)
    try {
      const stream = run[Symbol.asyncIterator]()
      while (!(await stream.next()).done) {
        if (--left > 0) continue
        if (fate < 0.25) abort.abort()
        else if (fate < 0.5) await stream.return()
      }
    } catch (error) {
      if (!abort.signal.aborted) throw error
    }
    session.dispose()
  }
}

function histogram(residuals) {
  const rows = []
  let below = -1
  for (const edge of edges) {
    const count = residuals.filter(
      (bytes) => Math.abs(bytes) > below && Math.abs(bytes) <= edge * MB,
    ).length
    const label =
      edge === 0
        ? 'residual 0 bytes'
        : edge < Infinity
          ? `residual up to ${edge} MB`
          : 'residual above'
    rows.push([label, count, '█'.repeat(Math.ceil((60 * count) / residuals.length))])
    below = edge * MB
  }
  return rows
}

async function run({ device, model, seconds = 20, callers = 16 }) {
  const engine = await Engine.load(model, {
    device,
    maxSequences: callers,
    memory: { kv: 64 * 2 ** 20 },
  })
  const ends = Date.now() + seconds * 1000
  const isOver = () => Date.now() >= ends
  const traffic = Array.from({ length: callers }, (_, index) => caller(engine, index + 1, isOver))
  const audits = []
  while (!isOver()) {
    audits.push(engine.memory({ audit: true }).audit)
    await pause(20)
  }
  await Promise.all(traffic)
  const last = engine.memory({ audit: true }).audit
  engine.dispose()
  const residuals = audits.map(({ residualBytes }) => residualBytes)
  const within = residuals.filter((bytes) => Math.abs(bytes) <= 12 * MB).length / residuals.length
  const agree = audits.filter(({ regions }) =>
    Object.values(regions).every(({ agrees }) => agrees),
  ).length
  const under = audits.filter(({ underLimit }) => underLimit).length
  return [
    ['samples', residuals.length, `the driver counts for the ${last.source}`],
    ['context', `${(last.contextBytes / MB).toFixed(1)} MB`, 'measured when the kernels had run'],
    ...histogram(residuals),
    ['within 12 MB', `${(100 * within).toFixed(2)} %`, 'bar 99 %'],
    ['plan and ledger agree', `${agree}/${audits.length}`, 'bar: all'],
    ['under memory.limit', `${under}/${audits.length}`, 'bar: all'],
    ['idle at the end: residual', `${last.residualBytes} bytes`, last.verdict],
  ]
}

module.exports = { run, title: 'Audit: plan = ledger = driver' }
