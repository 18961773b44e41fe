// Failing the n-th allocation of load, generate, score and dispose, for every n: a typed error each time, and the
// device's figure, the ledger and the next run as before.
'use strict'
const { openCheckpoint } = require('../../../dist/checkpoint/index.js')
const { embeddedModel } = require('../../../dist/load.js')
const { loadNative } = require('../../../dist/native.js')

const MiB = 2 ** 20
// Where pages of the KV cache that are mapped ahead fail, those that are needed are mapped alone and the run goes on:
// the sweep is over when so many in a row were served.
const servedInRow = 4
const prompt = Int32Array.from({ length: 40 }, (_, index) => 3 + index)
const request = {
  ...{ prompt, maxNewTokens: 20, temperature: 0, topK: 0, topP: 1, minP: 0, seed: 0n },
  ...{ repetitionPenalty: 1, frequencyPenalty: 0, presencePenalty: 0 },
  ...{ biasTokens: new Int32Array(), biasValues: new Float32Array(), stopTokens: new Int32Array() },
  ...{ topLogprobs: 0, score: false, credits: 1e6 },
}

/** A native engine and the ends of its requests. */
class SweptEngine {
  #ends = new Map()
  tokens = new Map()

  static async load({ spec, manifest }, device, failAllocation) {
    const swept = new SweptEngine()
    const { promise } = loadNative().loadEngine({
      ...{ device, threads: 1, spec, manifest, onProgress: () => {} },
      options: {
        ...{ maxSequences: 4, maxBatchTokens: 64, blockSize: 16, dtype: 'bf16' },
        ...{ memoryLimit: device === 'cpu' ? 256 * MiB : 8192 * MiB, kvBytes: 4 * MiB },
        testing: { failAllocation },
      },
      onEvents: (events) => swept.#take(events),
    })
    swept.native = await promise
    return swept
  }

  #take({ requests, tokens, finished }) {
    requests.forEach((id, index) => this.tokens.get(id)?.push(tokens[index]))
    for (const finish of finished) this.#ends.get(finish.request)?.(finish)
  }

  run(session, changes = {}) {
    const id = this.native.submit(session, { ...request, ...changes })
    this.tokens.set(id, [])
    return new Promise((resolve) => this.#ends.set(id, resolve)).then((end) => ({ id, ...end }))
  }
}

/** { where, code, message } of the failure, or null and the tokens. */
async function wholeRun(checkpoint, device, n) {
  let engine
  try {
    engine = await SweptEngine.load(checkpoint, device, n)
  } catch ({ code, message }) {
    return { where: 'load', code, message }
  }
  const sessions = Array.from({ length: 3 }, () => engine.native.createSession())
  const ends = await Promise.all([
    engine.run(sessions[0]),
    engine.run(sessions[1]),
    engine.run(sessions[2], { score: true, maxNewTokens: 0 }),
  ])
  engine.native.check()
  const { code, message } = ends.find(({ reason }) => reason === 'failed') ?? {}
  const tokens = [...engine.tokens.get(ends[0].id)]
  engine.native.dispose()
  return code === undefined ? { where: null, tokens } : { where: 'generate', code, message }
}

const used = ({ processBytes, totalBytes, freeBytes }) => processBytes ?? totalBytes - freeBytes

function requireNothingLive() {
  const live = Object.entries(loadNative().liveObjects()).filter(([, count]) => count !== 0)
  if (live.length > 0) throw new Error(`left over: ${JSON.stringify(live)}`)
}

async function run({ device }) {
  const checkpoint = await openCheckpoint(embeddedModel)
  const expected = await wholeRun(checkpoint, device, 0)
  const before = used(loadNative().memoryUse(device))
  const outcomes = []
  const left = new Set()
  for (let n = 1, served = 0; served < servedInRow; n++) {
    const outcome = await wholeRun(checkpoint, device, n)
    requireNothingLive()
    left.add(used(loadNative().memoryUse(device)) - before)
    if (outcome.where === null) {
      if (`${outcome.tokens}` !== `${expected.tokens}`) throw new Error('the tokens differ')
      served++
    } else {
      served = 0
      outcomes.push({ n, ...outcome })
    }
  }
  for (const { n, where, code, message } of outcomes) {
    console.log(`n ${String(n).padStart(3)}  ${where.padEnd(9)} ${code}  ${message.slice(0, 80)}`)
  }
  console.log()
  const typed = outcomes.filter(({ code }) => /^OCTAVO_(OUT_OF_MEMORY|DEVICE_FAILED)$/.test(code))
  const during = (place) => outcomes.filter(({ where }) => where === place).length
  const moved = Math.max(...[...left].map(Math.abs))
  return [
    ['allocations that were made to fail', outcomes.length, `${during('load')} in load`],
    [
      'of them with a typed error',
      typed.length,
      'bar: all',
      {
        ...{ case: `failure sweep: untyped outcomes of ${outcomes.length} failed allocations` },
        ...{ value: outcomes.length - typed.length, unit: 'outcomes', better: 'lower', floor: 0 },
      },
    ],
    ['device bytes after each, beside before', [...left].join(', '), 'bar 0'],
    [
      'the most they moved',
      `${moved} bytes`,
      '',
      {
        ...{ case: 'failure sweep: device bytes left after a failed allocation', unit: 'bytes' },
        ...{ value: moved, better: 'lower', floor: 0 },
      },
    ],
    ['runs that were served all the same', servedInRow, 'the same tokens'],
  ]
}

module.exports = { run, title: 'Failing every allocation, one at a time' }
