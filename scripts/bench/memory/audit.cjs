// A soak of sessions that come, go, abort and are scored, audited all the while: the residual of every sample, as a
// histogram.
'use strict'
const { Engine } = require('../../../dist/index.js')
const { randomOf } = require('./random.cjs')

const MB = 1e6
const bar = 12 * MB
const edges = [0, 1, 2, 4, 8, 12, 16, 32, 64, Infinity] // MB, upper ends

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

const promptOf = (random, most) =>
  Array.from({ length: 1 + Math.floor(random() * most) }, () => 3 + Math.floor(random() * 400))

/** A stream of tokens that ends, is aborted, or is left in the middle. */
async function stream(session, random) {
  const abort = new AbortController()
  const run = session.generate(promptOf(random, 200), {
    maxNewTokens: 1 + Math.floor(random() * 150),
    temperature: random() < 0.5 ? 0 : 0.8,
    ignoreEos: true,
    signal: abort.signal,
  })
  const fate = random()
  let left = 1 + Math.floor(random() * 40)
  try {
    const pieces = run[Symbol.asyncIterator]()
    while (!(await pieces.next()).done) {
      if (--left > 0) continue
      if (fate < 0.25) abort.abort()
      else if (fate < 0.5) await pieces.return()
    }
  } catch (error) {
    if (!abort.signal.aborted) throw error
  }
}

/** One caller: sessions one after the other; now and then logits of a whole prompt, or a compaction. */
async function caller(engine, seed, isOver) {
  const random = randomOf(seed)
  while (!isOver()) {
    const session = engine.createSession()
    await stream(session, random)
    session.dispose()
    const fate = random()
    if (fate < 0.1) await engine.logits(promptOf(random, 100))
    else if (fate < 0.15) await engine.compact()
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

async function soak({ device, model, seconds, callers }) {
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
  engine.check()
  engine.dispose()
  return { audits, last }
}

async function run({ device, model, seconds = 20, callers = 16 }) {
  const { audits, last } = await soak({ device, model, seconds, callers })
  const residuals = audits.map(({ residualBytes }) => residualBytes)
  const within = residuals.filter((bytes) => Math.abs(bytes) <= bar).length / residuals.length
  const largest = Math.max(...residuals.map(Math.abs))
  const agree = audits.filter(({ regions }) =>
    Object.values(regions).every(({ agrees }) => agrees),
  ).length
  const under = audits.filter(({ underLimit }) => underLimit).length
  const soaked = `audit soak, ${residuals.length} samples in ${seconds} s by ${last.source}`
  return [
    ['samples', residuals.length, `the driver counts for the ${last.source}`],
    ['context', `${(last.contextBytes / MB).toFixed(1)} MB`, 'measured when the kernels had run'],
    ...histogram(residuals),
    [
      'within 12 MB',
      `${(100 * within).toFixed(2)} %`,
      'bar 99 %',
      {
        ...{ case: 'audit soak: samples with a residual of at most 12 MB', unit: '%' },
        ...{ value: Number((100 * within).toFixed(2)), better: 'higher', floor: 99 },
      },
    ],
    [
      'largest residual',
      `${(largest / MB).toFixed(3)} MB`,
      soaked,
      {
        ...{ case: 'audit soak: largest residual', unit: 'MB' },
        ...{ value: Number((largest / MB).toFixed(3)), better: 'lower' },
      },
    ],
    ['plan and ledger agree', `${agree}/${audits.length}`, 'bar: all'],
    ['under memory.limit', `${under}/${audits.length}`, 'bar: all'],
    ['idle at the end: residual', `${last.residualBytes} bytes`, last.verdict],
  ]
}

module.exports = { run, title: 'Audit: plan = ledger = driver' }
