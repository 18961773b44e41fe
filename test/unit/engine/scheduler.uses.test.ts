/** What counts as a use of kept blocks, and what a request is foreseen to share. */
import { generate, openScheduler, type OpenScheduler } from '../../helpers/scheduler-testing.js'

const prefix = { eviction: 'lru-2', share: 1, retentionMs: 0, correlatedUses: 0 } as const
const prompt = (kind: number, tokens: number): Int32Array => new Int32Array(tokens).fill(kind)

let opened: OpenScheduler
const open = (blocks: number, given = {}): void => {
  opened = openScheduler(blocks, { prefix, maxBatchTokens: 256, ...given })
}
const step = (times: number): void => {
  for (let each = 0; each < times; each++) opened.scheduler.step()
  opened.scheduler.check()
}

/** A request in a session of its own, which goes with it. */
function serve(tokens: Int32Array, maxNewTokens = 1): void {
  const session = opened.scheduler.createSession('')
  opened.scheduler.submit(session, tokens, { ...generate, maxNewTokens })
  step(maxNewTokens)
  opened.scheduler.disposeSession(session)
}

/** Tokens of a prompt that are found. */
function found(tokens: Int32Array): number {
  const before = opened.scheduler.state().prefix.hitTokens
  serve(tokens)
  return opened.scheduler.state().prefix.hitTokens - before
}

test('a request that was parked and goes on is one query, and one use of its blocks', () => {
  open(10, { maxSequences: 1 })
  const { scheduler } = opened
  const slow = scheduler.createSession('')
  const request = scheduler.submit(slow, prompt(1, 49), {
    ...generate,
    maxNewTokens: 4,
    credits: 1,
  })
  step(1) // and pauses
  serve(prompt(2, 49))
  scheduler.grant(request, 10)
  step(4)
  expect(scheduler.state()).toMatchObject({ running: [], waiting: [], prefix: { queries: 2 } })
  scheduler.disposeSession(slow)
  serve(prompt(2, 49)) // a second use of those
  serve(prompt(3, 100)) // takes the place of blocks used once
  expect(found(prompt(2, 49))).toBe(48)
  expect(found(prompt(1, 49))).toBe(0)
})

test('a prompt of one token is a use of its own', () => {
  open(8)
  serve(prompt(1, 33))
  serve(prompt(2, 33))
  serve(prompt(6, 1), 32) // the last; tokens sampled stand for themselves
  const sequence = Int32Array.from({ length: 33 }, (_, index) => (index === 0 ? 6 : index % 7))
  serve(prompt(3, 60)) // needs the blocks of the oldest
  expect(found(sequence)).toBe(32)
})

test('a score request is not foreseen to share what it must compute', () => {
  open(8)
  const { scheduler } = opened
  const talking = scheduler.createSession('')
  scheduler.submit(talking, prompt(1, 64), { ...generate, maxNewTokens: 32 })
  step(1)
  const scored = scheduler.createSession('')
  const score = { ...generate, maxNewTokens: 0, score: true }
  const request = scheduler.submit(scored, prompt(1, 65), score)
  step(1)
  expect(scheduler.state()).toMatchObject({ waiting: [request], stalls: 0 })
  step(60)
  expect(scheduler.state()).toMatchObject({ running: [], waiting: [], stalls: 0 })
})
