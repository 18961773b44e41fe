// Another process takes the device's memory while an engine serves: the engine makes do with what it holds, refuses by
// type what does not fit, and grows again when the other has gone. On the CPU both are in a control group of 1 GiB.
'use strict'
const { spawn, spawnSync } = require('node:child_process')
const { join } = require('node:path')
const { once } = require('node:events')
const { parseArgs } = require('node:util')
const { Engine } = require('../../../dist/index.js')
const { makeControlGroup } = require('./control-group.cjs')
const { randomOf } = require('./random.cjs')

const MiB = 2 ** 20
const groupBytes = 1024 * MiB
const attempts = { before: 60, during: 200, after: 100 }
const mostSessions = 300 // kept with their KV, as a server keeps conversations
const given = 20 // sessions that a refusal makes the caller give up

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/** Requests one after the other, each in a session that stays; what became of them. */
class Traffic {
  #random = randomOf(5)
  #kept = []

  constructor(engine) {
    this.engine = engine
  }

  async run(count) {
    const seen = { served: 0, refused: {}, other: [], leastCapacity: Infinity, mostPages: 0 }
    for (let attempt = 0; attempt < count; attempt++) await this.#attempt(seen)
    return seen
  }

  async #attempt(seen) {
    const session = this.engine.createSession()
    const length = 250 + Math.floor(200 * this.#random())
    const prompt = Array.from({ length }, () => 3 + Math.floor(400 * this.#random()))
    try {
      await session.generate(prompt, { maxNewTokens: 4, ignoreEos: true }).result
      seen.served++
      this.#kept.push(session)
      if (this.#kept.length > mostSessions) this.#giveUp(1)
    } catch (error) {
      session.dispose()
      if (typeof error.code !== 'string' || !error.code.startsWith('OCTAVO_')) throw error
      seen.refused[error.code] = (seen.refused[error.code] ?? 0) + 1
      if (error.code !== 'OCTAVO_OUT_OF_MEMORY') seen.other.push(error.message)
      this.#giveUp(given)
      await pause(5)
    }
    const { capacityBlocks, pages } = this.engine.memory().kv
    seen.leastCapacity = Math.min(seen.leastCapacity, capacityBlocks)
    seen.mostPages = Math.max(seen.mostPages, pages.mapped)
  }

  #giveUp(count) {
    for (const session of this.#kept.splice(0, count)) session.dispose()
  }

  end() {
    this.#giveUp(this.#kept.length)
  }
}

/** Resolves when the neighbour holds what it wants. */
async function startNeighbour(device, leave) {
  const file = join(__dirname, 'neighbour-process.cjs')
  const child = spawn(process.execPath, [file, device, String(leave)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  let text = ''
  child.stdout.setEncoding('utf8')
  for await (const piece of child.stdout) {
    text += piece
    if (text.includes('\n')) break
  }
  const leaving = async () => {
    child.stdin.end()
    if (child.exitCode === null) await once(child, 'exit')
  }
  const taken = Number(/holding (\d+)/.exec(text)?.[1] ?? NaN)
  if (!Number.isNaN(taken)) return { taken, leaving }
  await leaving()
  throw new Error(`the neighbour said '${text}'`)
}

/** The ladder of a host that was short is left a rung at a time; a card has none. */
async function calm(engine) {
  const ends = Date.now() + 20_000
  while (engine.memory().host.level !== 'none' && Date.now() < ends) await pause(50)
}

/** The phases, on an engine that the caller disposes. */
async function servePhases(engine, leave) {
  const traffic = new Traffic(engine)
  const before = await traffic.run(attempts.before)
  const neighbour = await startNeighbour(engine.device, leave)
  let during
  try {
    during = await traffic.run(attempts.during)
    engine.check()
  } finally {
    await neighbour.leaving()
  }
  const gone = Date.now()
  await calm(engine)
  const calmSeconds = (Date.now() - gone) / 1000
  const after = await traffic.run(attempts.after)
  engine.check()
  traffic.end()
  const { taken } = neighbour
  return { taken, calmSeconds, before, during, after, totalBlocks: engine.memory().kv.totalBlocks }
}

async function serve(device) {
  const engine = await Engine.load(undefined, {
    device,
    maxSequences: 8,
    kv: { blockSize: 16 },
    memory: { kv: device === 'cpu' ? 512 * MiB : 2048 * MiB },
    ...(device === 'cpu' && { threads: 2 }),
  })
  try {
    const phases = await servePhases(engine, device === 'cpu' ? 64 * MiB : 24 * MiB)
    await engine.compact()
    const { audit, kv } = engine.memory({ audit: true })
    const agree = Object.values(audit.regions).every(({ agrees }) => agrees)
    return { ...phases, agree, left: kv.pages.mapped }
  } finally {
    engine.dispose()
  }
}

/** This very file in a process of its own, in a group on the CPU. */
function runApart(device) {
  const command = `'${process.execPath}' --expose-gc '${join(__dirname, 'neighbour.cjs')}' --device ${device}`
  const shell = (text) =>
    spawnSync('sh', ['-c', text], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
  if (device !== 'cpu') return shell(command)
  const group = makeControlGroup(groupBytes)
  try {
    return shell(group.enter(command))
  } finally {
    group.remove()
  }
}

const refusals = ({ refused }) =>
  Object.entries(refused)
    .map(([code, count]) => `${count} × ${code}`)
    .join(', ') || 'none'

function run({ device }) {
  let child
  try {
    child = runApart(device)
  } catch (error) {
    console.log(`no control group for two processes (${error.message}); left out`)
    return []
  }
  if (child.status !== 0) throw new Error(`it ended with ${child.status ?? child.signal}`)
  const made = JSON.parse(child.stdout)
  const { before, during, after, totalBlocks } = made
  const requests = attempts.before + attempts.during + attempts.after
  const untyped = [before, during, after].flatMap(({ other }) => other)
  const phase = (name, { served, leastCapacity, mostPages, ...seen }) => [
    [`${name}: served`, served, `refused: ${refusals(seen)}`],
    [`${name}: blocks it can hold at least`, leastCapacity, `of ${totalBlocks}`],
    [`${name}: pages mapped at most`, mostPages, ''],
  ]
  return [
    ...phase('alone', before),
    ['the neighbour holds', `${(made.taken / 1e9).toFixed(2)} GB`, ''],
    ...phase('beside it', during),
    ['gone: the host is calm after', `${made.calmSeconds.toFixed(1)} s`, ''],
    ...phase('after it', after),
    ['plan and ledger agree at the end', made.agree, ''],
    ['pages left at the end', made.left, 'bar 0'],
    [
      'refusals of another type, crashes',
      untyped.length,
      untyped[0] ?? 'bar 0',
      {
        ...{ case: `a second process takes the memory: untyped refusals of ${requests} requests` },
        ...{ value: untyped.length, unit: 'refusals', better: 'lower', floor: 0 },
      },
    ],
    [
      'served when it has gone',
      `${after.served} of ${attempts.after}`,
      '',
      {
        ...{ case: 'a second process has gone: requests served', unit: '%', better: 'higher' },
        ...{ value: (100 * after.served) / attempts.after, floor: 95 },
      },
    ],
  ]
}

module.exports = { run, title: 'A second process takes the memory' }
if (require.main === module) {
  const { values } = parseArgs({ options: { device: { type: 'string', default: 'cpu' } } })
  serve(values.device).then(
    (made) => console.log(JSON.stringify(made)),
    (error) => {
      console.error(error)
      process.exitCode = 1
    },
  )
}
