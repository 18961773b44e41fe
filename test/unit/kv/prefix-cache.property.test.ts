/** Random sessions over a tree of prompts: the cache, the pool and the ledger agree with a model after every event. */
import { openPrefix, owned, prefixOptions } from '../../helpers/prefix-testing.js'
import type { OpenPrefix } from '../../helpers/prefix-testing.js'
import { SeededRandom } from '../../helpers/seeded-random.js'
import type { NativePrefixOptions } from '../../../lib/native.js'
import { ModelPrefix } from './prefix-model.js'

const blocks = 48
const branches = 3

/** A prompt as a walk down the tree: equal beginnings have equal ids. */
function walk(random: SeededRandom): number[] {
  const ids: number[] = []
  let id = random.between(1, 3)
  for (let depth = random.between(1, 6); depth > 0; depth--) {
    ids.push(id)
    id = id * branches + random.between(0, branches - 1) + 1
  }
  return ids
}

function ownedInModel(model: ModelPrefix): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { holders } of model.found.values()) {
    const owner = holders.length === 0 ? 'engine 0' : `session ${holders[0]!}`
    counts[owner] = (counts[owner] ?? 0) + 1
  }
  return counts
}

function agree({ memory, pool, prefix }: OpenPrefix, model: ModelPrefix): void {
  prefix.check()
  expect(owned(memory)).toEqual(ownedInModel(model))
  expect(pool.pages()).toMatchObject({ free: blocks - model.live, owned: model.live })
  expect(prefix.report()).toMatchObject({
    blocks: model.found.size,
    cached: model.kept.length,
    shared: [...model.found.values()].filter(({ holders }) => holders.length > 1).length,
    history: model.history.size,
    merged: model.merged,
    evicted: model.evicted,
  })
}

interface Held {
  ids: number[]
  blocks: number[]
}

/** A whole new request, or none where there is no room. */
function request(
  opened: OpenPrefix,
  model: ModelPrefix,
  session: number,
  ids: number[],
): Held | null {
  const hits = model.hits(ids)
  const room = model.request(session, ids)
  const made = opened.prefix.request(session, Int32Array.from(ids), 0)
  if (!room) {
    expect(made).toBeNull()
    return null
  }
  expect(made!.hits).toBe(hits)
  ids.forEach((id, index) => {
    const entry = model.found.get(id)!
    if (entry.block < 0) entry.block = made!.blocks[index]!
    expect(made!.blocks[index]).toBe(entry.block)
  })
  return { ids, blocks: made!.blocks }
}

/** Everything goes, and every byte with it. */
function end({ memory, pool, prefix }: OpenPrefix, sessions: Map<number, Held>): void {
  for (const [session, held] of sessions) prefix.leave(session, held.blocks, 0, true)
  prefix.evict(blocks, false, 0)
  prefix.check()
  expect(pool.pages()).toMatchObject({ free: blocks, owned: 0, inFlight: 0 })
  pool.dispose()
  expect(memory.lines()).toEqual([])
}

const settings: [string, Partial<NativePrefixOptions>][] = [
  ['lru-2', {}],
  ['lru', { eviction: 'lru' }],
  ['lru-2 with a share', { share: 0.4 }],
  ['lru-2 with retention', { retentionMs: 500 }],
  ['lru-2 with a correlated period', { correlatedUses: 3, share: 0.7, retentionMs: 200 }],
]

test.each(settings)('%s agrees with a model', (_, given) => {
  const random = new SeededRandom(97)
  const options = { ...prefixOptions, ...given }
  const opened = openPrefix(blocks, options)
  const model = new ModelPrefix(blocks, options)
  const sessions = new Map<number, Held>()
  let last = 0
  for (let turn = 0; turn < 3000; turn++) {
    const action = random.next()
    if (action < 0.45) {
      const held = request(opened, model, ++last, walk(random))
      if (held !== null) sessions.set(last, held)
    } else if (action < 0.8 && sessions.size > 0) {
      const [session, held] = random.pick([...sessions])
      const kept = random.pick([0, 0, random.between(0, held.ids.length)])
      const drop = random.next() < 0.3
      opened.prefix.leave(session, held.blocks.splice(kept), 0, drop)
      model.leave(session, held.ids.splice(kept), drop)
      if (kept === 0) sessions.delete(session)
    } else if (action < 0.92) {
      const wanted = random.between(0, 12)
      const coldOnly = random.next() < 0.4
      expect(opened.prefix.evict(wanted, coldOnly, 0)).toBe(model.evict(wanted, coldOnly))
    } else {
      const pause = random.between(1, 300)
      opened.prefix.advance(pause)
      model.now += pause
    }
    agree(opened, model)
  }
  expect(model.evicted).toBeGreaterThan(100)
  end(opened, sessions)
})
