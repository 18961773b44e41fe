/** Hit shares of real request traces, and of hot prefixes between many prompts that come once. */
import { readFileSync } from 'node:fs'
import { openPrefix, type Prefix } from '../../helpers/prefix-testing.js'
import { SeededRandom } from '../../helpers/seeded-random.js'
import { sharedPath } from '../../shared.js'

type Eviction = 'lru-2' | 'lru'
const mooncake = { conversation: 'mooncake-conversation', synthetic: 'mooncake-synthetic' } as const
type Trace = keyof typeof mooncake
const longest = 400 // blocks of a request; the longest has 374

function requestsOf(trace: Trace): Int32Array[] {
  const path = sharedPath('traces', `${mooncake[trace]}.jsonl`)!
  const lines = readFileSync(path, 'utf8').trim().split('\n')
  return lines.map((line) => Int32Array.from((JSON.parse(line) as { hash_ids: number[] }).hash_ids))
}

/** One request after the other: it holds what it finds, takes the rest, and leaves. */
function play(prefix: Prefix, session: number, ids: Int32Array): number {
  const { hits, blocks } = prefix.request(session, ids, 0)!
  prefix.leave(session, blocks, 0, false)
  return hits
}

/** Blocks hit of all asked for, where `capacity` blocks are kept between requests. */
function hitShare(requests: Int32Array[], capacity: number, eviction: Eviction): string {
  const blocks = capacity + longest
  const { prefix, pool, memory } = openPrefix(blocks, { eviction, share: capacity / blocks })
  let hit = 0
  let asked = 0
  requests.forEach((ids, index) => {
    hit += play(prefix, index + 1, ids)
    asked += ids.length
  })
  prefix.check()
  expect(prefix.report().cached).toBeLessThanOrEqual(capacity)
  expect(pool.pages().owned).toBe(prefix.report().cached)
  pool.dispose()
  expect(memory.lines()).toEqual([])
  return (hit / asked).toFixed(4)
}

const withTraces = sharedPath('traces') === null ? describe.skip : describe

// The check values that come with the traces.
withTraces('shared/traces: hit shares', () => {
  const cases: [Trace, Eviction, [number, string][]][] = [
    [
      'conversation',
      'lru',
      [
        [1_000, '0.0445'],
        [10_000, '0.2112'],
        [50_000, '0.3546'],
        [182_790, '0.3664'],
      ],
    ],
    [
      'synthetic',
      'lru',
      [
        [1_000, '0.0825'],
        [10_000, '0.4235'],
        [50_000, '0.6396'],
      ],
    ],
    [
      'conversation',
      'lru-2',
      [
        [1_000, '0.0821'],
        [10_000, '0.2156'],
      ],
    ],
    [
      'synthetic',
      'lru-2',
      [
        [1_000, '0.0892'],
        [10_000, '0.4418'],
      ],
    ],
  ]
  test.each(cases)('%s with %s', (trace, eviction, shares) => {
    const requests = requestsOf(trace)
    for (const [capacity, share] of shares) {
      expect([capacity, hitShare(requests, capacity, eviction)]).toEqual([capacity, share])
    }
  })
})

/** Share of the hot prefixes' blocks that are found, between scans of prompts that never return. */
function hotShare(eviction: Eviction): number {
  const random = new SeededRandom(7)
  const { prefix } = openPrefix(1100, { eviction, share: 1000 / 1100 })
  const hot = Array.from({ length: 20 }, (_, prefixNumber) =>
    Int32Array.from({ length: 20 }, (_, block) => prefixNumber * 100 + block),
  )
  let hit = 0
  let asked = 0
  let scanned = 1_000_000
  for (let turn = 1; turn <= 2000; turn++) {
    const ids = random.pick(hot)
    const found = play(prefix, turn, ids)
    if (turn > 200) {
      hit += found
      asked += ids.length
    }
    for (let scan = 0; scan < 3; scan++) {
      play(
        prefix,
        10_000 + turn * 3 + scan,
        Int32Array.from({ length: 40 }, () => scanned++),
      )
    }
  }
  prefix.check()
  return hit / asked
}

test('a scan of prompts that never return pushes hot prefixes out of LRU, not out of LRU-2', () => {
  const lru = hotShare('lru')
  const lru2 = hotShare('lru-2')
  expect(lru2 - lru).toBeGreaterThanOrEqual(0.2)
  expect(lru2).toBeGreaterThan(0.95)
})
