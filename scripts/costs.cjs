// README's table of bytes, measured: `node scripts/costs.cjs [FOLDER]` after a build. Bytes are planned, so
// they are the same on every run; only the machine's name and the date are of the run.
'use strict'
const { existsSync } = require('node:fs')
const { cpus } = require('node:os')
const { join } = require('node:path')
const { Engine } = require('../dist/index.js')

const tokens = 100
const figure = (value) => value.toLocaleString('en-US')

/** What the engine holds with one session of about a hundred tokens, and after it is gone. */
async function measure(folder) {
  const engine = await Engine.load(folder, { device: 'cpu', maxSequences: 1, maxBatchTokens: 512 })
  const session = engine.createSession()
  const prompt = Array.from({ length: 4 }, (_, index) => index + 3)
  const options = { maxNewTokens: tokens - prompt.length, temperature: 0, ignoreEos: true }
  await session.generate(prompt, options).result
  const { regions, kv, sessions } = engine.memory()
  session.dispose()
  const left = engine.memory().ledger.filter(({ owner }) => owner.kind === 'session')
  await engine[Symbol.asyncDispose]()
  return [
    regions.weights.allocatedBytes,
    kv.totalBlocks * kv.blockBytes,
    regions.graph.allocatedBytes,
    regions.workspace.allocatedBytes,
    regions.pinned.allocatedBytes,
    sessions[0].bytes,
    left.reduce((sum, { bytes }) => sum + bytes, 0),
  ]
}

const rows = [
  'weights',
  'KV cache, one full context',
  'activations and batch input',
  'workspace',
  'pinned host memory',
  `of the KV cache: a session of ${tokens} tokens`,
  'the same session after `dispose()`',
]

async function main() {
  const chatModel = join(__dirname, '..', '.cache', 'smollm2-135m')
  const models = [['stories260K', undefined]]
  if (existsSync(chatModel)) models.push(['SmolLM2-135M', chatModel])
  const columns = await Promise.all(models.map(([, folder]) => measure(folder)))
  console.log(`| bytes | ${models.map(([name]) => name).join(' | ')} |`)
  console.log(`| --- |${' ---: |'.repeat(models.length)}`)
  rows.forEach((name, row) => {
    console.log(`| ${name} | ${columns.map((column) => figure(column[row])).join(' | ')} |`)
  })
  console.log(`\nCPU device, ${cpus()[0].model}, ${new Date().toISOString().slice(0, 10)}`)
}

main()
