// Sessions that take turns in a pool too small for all, which then gives up part of its blocks: what page-aware
// eviction leaves pinned and has computed again, beside eviction strictly by age. Turns are as long as the requests of a
// real trace; half of them go to one of the sessions used last, the others to a new one.
'use strict'
const { join } = require('node:path')
const { hasTraces, traces } = require('./traces.cjs')

const PAGE = 2 ** 21
const TURNS = 4000
const POOL_BYTES = 2 ** 31
const RECENT = 200
const MOST_TOKENS = 4096 // a session that long ends
const GIVEN_UP = [0.1, 0.3, 0.5] // of the pool, in the end

/** Numerical Recipes' generator: the same turns for every policy. */
function generator(seed) {
  let state = seed
  return () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32
}

class Sessions {
  /** The least recently used first; `blocks` may hold less than `tokens`. */
  idle = []
  evicted = 0
  emptied = 0
  recomputed = 0
  #last = 0

  constructor(pool, blockSize, pageAware) {
    Object.assign(this, { pool, blockSize, pageAware })
  }

  turn(tokens, random) {
    const place = this.idle.length - 1 - Math.floor(random() * RECENT)
    const continues = random() < 0.5 && place >= 0
    const session = continues
      ? this.idle.splice(place, 1)[0]
      : { id: ++this.#last, tokens: 0, blocks: [] }
    this.recomputed += Math.max(0, session.tokens - session.blocks.length * this.blockSize)
    session.tokens += tokens
    this.#cover(session)
    if (session.tokens < MOST_TOKENS) this.idle.push(session)
    else this.pool.release(session.id, session.blocks, 0)
  }

  /** Until so many blocks are free. */
  free(blocks) {
    const { pool, idle } = this
    const wanted = blocks - pool.pages().free
    if (wanted <= 0) return
    const candidates = idle.map((session) => session.blocks)
    const plan = pool.planEviction(candidates, wanted, this.pageAware)
    for (let at = 0; at < plan.evictions.length; at += 2) {
      const loser = idle[plan.evictions[at]]
      const kept = loser.blocks.length - plan.evictions[at + 1]
      pool.release(loser.id, loser.blocks.splice(kept), 0)
    }
    this.evicted += plan.blocks
    this.emptied += plan.pages
  }

  #cover(session) {
    const { id, blocks, tokens } = session
    const missing = Math.ceil(tokens / this.blockSize) - blocks.length
    if (missing <= 0) return
    this.free(missing)
    blocks.push(...this.pool.take(id, missing, blocks.at(-1) ?? -1, missing))
  }
}

function play(testing, shape, lengths, pageAware) {
  const blockBytes = shape.blockSize * shape.tokenBytes
  const memory = new testing.Memory('cpu')
  const blocks = Math.floor(POOL_BYTES / blockBytes)
  const pool = new testing.Pool(memory, { blocks, blockBytes })
  const sessions = new Sessions(pool, shape.blockSize, pageAware)
  const random = generator(1)
  for (let turn = 0; turn < TURNS; turn++) sessions.turn(lengths[turn % lengths.length], random)
  const { evicted, emptied, recomputed } = sessions
  const pinned = GIVEN_UP.map((share) => {
    sessions.free(Math.ceil(share * blocks))
    const { used, packed } = pool.pages()
    return used / packed
  })
  pool.check()
  pool.dispose()
  memory.dispose()
  return { pinned, recomputed, emptiedShare: (emptied * PAGE) / (evicted * blockBytes) }
}

function compare(label, aware, lru) {
  const percent = (share) => `${(100 * share).toFixed(1)} %`
  return [
    ...GIVEN_UP.map((share, index) => [
      `${label}: ${percent(share)} given up, over the floor`,
      `${aware.pinned[index].toFixed(3)} ×`,
      `lru: ${lru.pinned[index].toFixed(3)} ×`,
    ]),
    [`${label}: evicted`, `${percent(aware.emptiedShare)} as pages`, percent(lru.emptiedShare)],
    [`${label}: tokens computed again`, aware.recomputed, `lru: ${lru.recomputed}`],
  ]
}

function run() {
  if (!hasTraces()) {
    console.log('the traces are not there (OCTAVO_SHARED names the folder with traces/); left out')
    return []
  }
  const { testing } = require('node-gyp-build')(join(__dirname, '..', '..', '..'))
  const lengths = traces['Azure conversation']()
    .map(({ input, output }) => input + output)
    .filter((tokens) => tokens < MOST_TOKENS)
  return [16, 32].flatMap((blockSize) => {
    const shape = { blockSize, tokenBytes: 30 * 2 * 3 * 64 * 2 }
    const [lru, aware] = [false, true].map((aged) => play(testing, shape, lengths, aged))
    return compare(`SmolLM2-135M, blocks of ${blockSize}`, aware, lru)
  })
}

module.exports = { title: 'Eviction of idle sessions: pages pinned', run }
