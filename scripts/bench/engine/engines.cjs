// Engines of dummy weights for the cases: one at a time, kept while cases ask for the same.
'use strict'
const { mkdtempSync, readFileSync, rmSync, writeFileSync } = require('node:fs')
const { tmpdir } = require('node:os')
const { join } = require('node:path')
const { Engine } = require('../../../dist/engine.js')
const { tinyConfig } = require('./tiny.cjs')

const configs = join(__dirname, '..', 'configs')
const folders = { bf16: 'llama-3.1-8b', w4a16: 'llama-3.1-8b-w4a16', fp8: 'llama-3.1-8b-fp8' }

/** A folder with the shape's config.json, made small where the case is; `remove` undoes it. */
function folderOf({ shape, tiny }) {
  const folder = join(configs, folders[shape])
  if (!tiny) return { folder, remove: () => {} }
  const config = JSON.parse(readFileSync(join(folder, 'config.json'), 'utf8'))
  const made = mkdtempSync(join(tmpdir(), 'octavo-bench-'))
  writeFileSync(join(made, 'config.json'), JSON.stringify({ ...config, ...tinyConfig }))
  return { folder: made, remove: () => rmSync(made, { recursive: true }) }
}

function optionsOf({ limit, tiny }, { device, graphs, overlap }) {
  const memory =
    tiny && device === 'cpu' ? { limit: 2 ** 29, kv: 2 ** 24 } : { limit: limit ?? 0.9 }
  const small = tiny ? { maxBatchTokens: 64, threads: 1 } : {}
  return { device, loadFormat: 'dummy', memory, maxSequences: 256, graphs, overlap, ...small }
}

/** At most one engine at a time. */
class Engines {
  #run
  #key = null
  #engine = null
  #remove = () => {}

  constructor(run) {
    this.#run = run
  }

  /** The engine of a case, and the seconds that its load took; a fresh one where `fresh`. */
  async of(bar, fresh = false) {
    const key = JSON.stringify([bar.shape, bar.limit ?? null])
    if (!fresh && key === this.#key) return { engine: this.#engine, seconds: null }
    this.close()
    const { folder, remove } = folderOf(bar)
    const began = performance.now()
    try {
      this.#engine = await Engine.load(folder, optionsOf(bar, this.#run))
    } finally {
      if (this.#engine === null) remove()
    }
    this.#remove = remove
    this.#key = key
    return { engine: this.#engine, seconds: (performance.now() - began) / 1000 }
  }

  /** Every invariant holds, nothing of a session is left, and everything goes. */
  close() {
    if (this.#engine === null) return
    this.#engine.check()
    const left = this.#engine.memory().ledger.filter(({ owner }) => owner.kind !== 'engine')
    if (left.some(({ bytes }) => bytes > 0)) throw new Error(`still held: ${JSON.stringify(left)}`)
    this.#engine.dispose()
    this.#engine = null
    this.#key = null
    this.#remove()
  }
}

module.exports = { Engines }
