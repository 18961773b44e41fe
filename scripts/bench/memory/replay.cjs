// Replays a trace on a real pool of KV blocks whose pages are counted but hold nothing.
'use strict'
const { EventQueue } = require('./event-queue.cjs')
const { DECODE_TOKENS_A_SECOND, PREFILL_TOKENS_A_SECOND } = require('./sessions.cjs')

const PAGE = 2 ** 21
const CHUNK_TOKENS = 512 // prefilled at once
const STEP = 1 / DECODE_TOKENS_A_SECOND // a fence each, and a slice of compaction

class Replay {
  #queue = new EventQueue()
  #sessions = new Map()
  #step = 0
  #stuckShares = 0
  alive = new Set()
  peak = { mappedBytes: 0, liveBytes: 0, stuckShare: 0 }
  compaction = { moves: 0, slices: 0, microseconds: 0, longestMicroseconds: 0 }

  /** `compacts`: as an engine does between its steps. */
  constructor(pool, shape, requests, factor, compacts) {
    this.pool = pool
    this.shape = shape
    this.compacts = compacts
    requests.forEach((request, index) => {
      const session = { id: index + 1, ...request, blocks: [], tokens: 0, idle: false }
      this.#sessions.set(session.id, session)
      this.#queue.push({ time: request.arrival / factor, session })
    })
  }

  /** Until a time in seconds, or to the end of all but the idle. */
  run(until = Infinity) {
    while (this.#queue.size > 0 && this.#queue.nextTime <= until) {
      this.#passSteps(this.#queue.nextTime)
      const { session, time } = this.#queue.pop()
      this.#advance(session, time)
    }
    if (this.#queue.size === 0) this.#passSteps((this.#step + 2) * STEP)
  }

  get steps() {
    return this.#step
  }

  get meanStuckShare() {
    return this.#stuckShares / this.#step
  }

  /** One slice; false when there was nothing to move. */
  compact(onlyIfStuck) {
    const began = process.hrtime.bigint()
    const moves = this.pool.compact(onlyIfStuck)
    const took = Number(process.hrtime.bigint() - began) / 1e3
    if (moves.length === 0) return false
    for (let at = 0; at < moves.length; at += 3) {
      const { blocks } = this.#sessions.get(moves[at])
      blocks[blocks.indexOf(moves[at + 1])] = moves[at + 2]
    }
    this.compaction.moves += moves.length / 3
    this.compaction.slices++
    this.compaction.microseconds += took
    this.compaction.longestMicroseconds = Math.max(this.compaction.longestMicroseconds, took)
    return true
  }

  #passSteps(now) {
    for (; (this.#step + 1) * STEP <= now; this.#step++) {
      this.pool.passFence(this.#step)
      if (this.compacts) this.compact(true)
      this.#stuckShares += this.#sample()
    }
  }

  #sample() {
    const { stuckBytes, mapped, liveBytes } = this.pool.pages()
    const mappedBytes = mapped * PAGE
    const stuckShare = mapped === 0 ? 0 : stuckBytes / mappedBytes
    if (liveBytes > this.peak.liveBytes) Object.assign(this.peak, { liveBytes, stuckShare })
    this.peak.mappedBytes = Math.max(this.peak.mappedBytes, mappedBytes)
    return stuckShare
  }

  /** One chunk of prefill, or the tokens up to the next block, or the end. */
  #advance(session, now) {
    const { input, output, tokens } = session
    if (tokens === 0) this.alive.add(session)
    if (tokens === input + output) return this.#end(session)
    const { blockSize } = this.shape
    const prefill = tokens < input
    const border = (Math.floor(tokens / blockSize) + 1) * blockSize
    const next = prefill ? Math.min(input, tokens + CHUNK_TOKENS) : Math.min(input + output, border)
    this.#cover(session, next, Math.max(input, next))
    session.tokens = next
    const rate = prefill ? PREFILL_TOKENS_A_SECOND : DECODE_TOKENS_A_SECOND
    this.#queue.push({ time: now + (next - tokens) / rate, session })
  }

  #cover(session, tokens, expected) {
    const blocksOf = (count) => Math.ceil(count / this.shape.blockSize)
    const { id, blocks } = session
    const missing = blocksOf(tokens) - blocks.length
    if (missing <= 0) return
    const ahead = blocksOf(expected) - blocks.length
    const taken = this.pool.take(id, missing, blocks.at(-1) ?? -1, ahead)
    if (taken === null) throw new Error(`session ${id} found no block`)
    blocks.push(...taken)
    this.#sample()
  }

  #end(session) {
    if (session.idle) return
    this.alive.delete(session)
    this.pool.release(session.id, session.blocks, this.#step + 1)
  }
}

module.exports = { Replay }
