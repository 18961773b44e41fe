/** What the scheduler promises, one promise a test. */
import { generate, openScheduler } from '../../helpers/scheduler-testing.js'
import type { Scheduler, SchedulerRequest } from '../../helpers/scheduler-testing.js'

const prompt = (tokens: number): Int32Array => new Int32Array(tokens).fill(5)

function submit(
  scheduler: Scheduler,
  tokens: number,
  request: Partial<SchedulerRequest> = {},
  tenant = '',
): number {
  const session = scheduler.createSession(tenant)
  return scheduler.submit(session, prompt(tokens), { ...generate, ...request })
}

/** request → tokens of it in one step. */
function step(scheduler: Scheduler): Record<number, number> {
  const { sequences } = scheduler.step()
  const counts: Record<number, number> = {}
  for (let at = 0; at < sequences.length; at += 4) counts[sequences[at]!] = sequences[at + 2]!
  return counts
}

test('decodes go first, and prompts share what is left of the budget', () => {
  const { scheduler } = openScheduler(100, { maxBatchTokens: 10 })
  const [a, b] = [submit(scheduler, 3), submit(scheduler, 4)]
  expect(step(scheduler)).toEqual({ [a]: 3, [b]: 4 })
  const long = submit(scheduler, 30)
  const last = submit(scheduler, 1)
  expect(step(scheduler)).toEqual({ [a]: 1, [b]: 1, [long]: 8 })
  expect(step(scheduler)).toEqual({ [a]: 1, [b]: 1, [long]: 8 })
  expect(scheduler.state()).toMatchObject({ running: [a, b, long], waiting: [last] })
  expect(step(scheduler)).toEqual({ [a]: 1, [b]: 1, [long]: 8 })
  expect(step(scheduler)).toEqual({ [a]: 1, [b]: 1, [long]: 6, [last]: 1 })
})

test('the bound of the peak: more run than their totals would let', () => {
  // Blocks of one token, and the example of the published bound: (held, left) in tokens, 31 in all at the peak.
  const requests = [
    [5, 4],
    [4, 3],
    [5, 3],
    [3, 2],
    [4, 2],
  ] as const
  for (const [blocks, running] of [
    [31, 5],
    [30, 4],
  ] as const) {
    const { scheduler } = openScheduler(blocks, { blockSize: 1, maxBatchTokens: 64 })
    for (const [held, left] of requests) submit(scheduler, held, { maxNewTokens: left })
    step(scheduler)
    expect(scheduler.state().running).toHaveLength(running)
    for (let turn = 0; turn < 20; turn++) step(scheduler)
    expect(scheduler.state()).toMatchObject({ running: [], waiting: [], preemptions: 0, stalls: 0 })
    scheduler.check()
  }
})

test('who takes nothing is parked before others would stall for it, and ends later', () => {
  const { scheduler } = openScheduler(12, { blockSize: 1, maxBatchTokens: 8 })
  // The second is to end at once and give its blocks to the first, but its caller takes nothing for a while.
  const long = submit(scheduler, 1, { maxNewTokens: 10 })
  const short = submit(scheduler, 5, { maxNewTokens: 2, credits: 1 })
  step(scheduler)
  expect(scheduler.state().running).toEqual([long, short])
  for (let turn = 0; turn < 6; turn++) step(scheduler)
  expect(scheduler.state()).toMatchObject({ running: [long], waiting: [short], stalls: 0 })
  scheduler.check()
  scheduler.grant(short, 5)
  const finished: number[] = []
  for (let turn = 0; turn < 20; turn++) finished.push(...scheduler.step().finished)
  expect(finished.sort()).toEqual([long, short])
  expect(scheduler.state().preemptions).toBe(0)
})

test('who gets its tokens later than the bound assumes makes others wait, and all end', () => {
  // The second prompt comes in chunks of what the first leaves: when the first has grown, it has not begun to decode.
  const { scheduler } = openScheduler(33, { blockSize: 1, maxBatchTokens: 2, maxSequences: 2 })
  const long = submit(scheduler, 1, { maxNewTokens: 30 })
  const slow = submit(scheduler, 15, { maxNewTokens: 4 })
  const finished: number[] = []
  for (let turn = 0; turn < 60; turn++) {
    finished.push(...scheduler.step().finished)
    scheduler.check()
  }
  expect(finished).toEqual([slow, long])
  expect(scheduler.state()).toMatchObject({ preemptions: 0, running: [], waiting: [] })
  expect(scheduler.state().stalls).toBeGreaterThan(0)
})

test('a prefix that running requests share is counted once', () => {
  const prefix = { eviction: 'lru-2', share: 1, retentionMs: 0, correlatedUses: 0 } as const
  for (const [options, most] of [
    [{}, 1],
    [{ prefix }, 3],
  ] as const) {
    const { scheduler } = openScheduler(16, { ...options, maxBatchTokens: 256 })
    const first = submit(scheduler, 161, { maxNewTokens: 15 }) // 10 blocks of prompt and one of output
    step(scheduler)
    const others = [1, 2].map(() => submit(scheduler, 161, { maxNewTokens: 15 }))
    step(scheduler)
    expect(scheduler.state().running).toEqual([first, ...others].slice(0, most))
    for (let turn = 0; turn < 60; turn++) {
      scheduler.step()
      scheduler.check()
    }
    expect(scheduler.state()).toMatchObject({ running: [], waiting: [], stalls: 0 })
  }
})

test('the higher priority is served first, and its prompt too', () => {
  const { scheduler } = openScheduler(100, { maxSequences: 1 })
  const running = submit(scheduler, 4, { maxNewTokens: 2 })
  step(scheduler)
  const low = submit(scheduler, 4, { priority: -1 })
  const usual = submit(scheduler, 4)
  const high = submit(scheduler, 4, { priority: 7 })
  expect(scheduler.state().waiting).toEqual([high, usual, low])
  step(scheduler)
  step(scheduler)
  expect(scheduler.state().running).toEqual([high])
  expect(running).toBe(1)

  const two = openScheduler(100, { maxBatchTokens: 10 }).scheduler
  const slow = submit(two, 100)
  step(two)
  const quick = submit(two, 15, { priority: 1 })
  expect(step(two)).toEqual({ [slow]: 10 }) // it waits: admission comes after those that run
  expect(two.state().waiting).toEqual([quick])
})

test('tenants with work are given as much as each other, however much one of them asks', () => {
  const { scheduler } = openScheduler(1000, { maxSequences: 2 })
  const served: Record<string, number> = { greedy: 0, modest: 0 }
  const tenantOf = new Map<number, string>()
  const ask = (tenant: string, tokens: number): void => {
    tenantOf.set(submit(scheduler, tokens, { maxNewTokens: 8 }, tenant), tenant)
  }
  for (let count = 0; count < 60; count++) ask('greedy', 20)
  for (let count = 0; count < 15; count++) ask('modest', 20)
  const gaps: number[] = []
  while (scheduler.state().waiting.some((id) => tenantOf.get(id) === 'modest')) {
    for (const [id, tokens] of Object.entries(step(scheduler))) {
      served[tenantOf.get(Number(id))!]! += tokens === 1 ? 2 : tokens + 2
    }
    gaps.push(Math.abs(served['greedy']! - served['modest']!))
  }
  // Two requests' worth: 2 · (20 prompt tokens + 2 · 8 output tokens), the bound that is proven for it.
  expect(Math.max(...gaps)).toBeLessThanOrEqual(72)
  expect(scheduler.state().waiting.length).toBeGreaterThan(40)
})

test('who was idle has saved nothing up', () => {
  const { scheduler } = openScheduler(1000, { maxSequences: 1 })
  const busy = Array.from({ length: 10 }, () => submit(scheduler, 10, { maxNewTokens: 1 }, 'busy'))
  for (let turn = 0; turn < 5; turn++) step(scheduler)
  const late = Array.from({ length: 5 }, () => submit(scheduler, 10, { maxNewTokens: 1 }, 'late'))
  const { waiting } = scheduler.state()
  expect(waiting.slice(0, 4)).not.toEqual(late.slice(0, 4))
  expect(new Set([...waiting.slice(0, 2)].map((id) => late.includes(id))).size).toBe(2)
  expect(waiting).toHaveLength(busy.length)
})

test('optimistic: more begin, the last to arrive makes room, and goes on', () => {
  const { scheduler } = openScheduler(12, { optimistic: true, blockSize: 4, maxBatchTokens: 40 })
  const requests = [1, 2, 3].map(() => submit(scheduler, 8, { maxNewTokens: 32 }))
  step(scheduler)
  expect(scheduler.state().running).toEqual(requests)
  const finished: number[] = []
  for (let turn = 0; turn < 200 && finished.length < 3; turn++) {
    finished.push(...scheduler.step().finished)
    scheduler.check()
  }
  expect(finished).toEqual(requests)
  expect(scheduler.state().preemptions).toBeGreaterThan(0)
})

test('optimistic: the lowest priority makes room, not the last to arrive', () => {
  const { scheduler } = openScheduler(12, { optimistic: true, blockSize: 4, maxBatchTokens: 40 })
  const low = submit(scheduler, 8, { maxNewTokens: 32, priority: -1 })
  const others = [1, 2].map(() => submit(scheduler, 8, { maxNewTokens: 32 }))
  while (scheduler.state().preemptions === 0) step(scheduler)
  expect(scheduler.state()).toMatchObject({ waiting: [low] })
  expect([...scheduler.state().running].sort()).toEqual(others)
})

test('those whom the sampler has no room for together take turns, the higher priority first', () => {
  const { scheduler } = openScheduler(200, { maxBatchTokens: 400, maxSamplingEntries: 100 })
  const seen = Int32Array.from({ length: 40 }, (_, index) => index)
  const penalised = (priority: number): number =>
    scheduler.submit(scheduler.createSession(''), seen, {
      ...generate,
      ...{ maxNewTokens: 200, repetitionPenalty: 2, priority },
    })
  const requests = Array.from({ length: 5 }, () => penalised(0))
  const favoured = penalised(1)
  const sampled = new Map([...requests, favoured].map((id) => [id, 0]))
  for (let turn = 0; turn < 51; turn++) {
    const { sequences } = scheduler.step()
    for (let at = 0; at < sequences.length; at += 4) {
      if (sequences[at + 3] === 0) sampled.set(sequences[at]!, sampled.get(sequences[at]!)! + 1)
    }
    scheduler.check()
  }
  expect(sampled.get(favoured)).toBe(51) // room for two at a time, and one is always this
  const others = requests.map((id) => sampled.get(id)!)
  expect(Math.min(...others)).toBeGreaterThanOrEqual(10)
  expect(Math.max(...others)).toBeLessThanOrEqual(11)
})

test('who had no logit row beside a score comes first in the next step', () => {
  const limits = { maxSequences: 3, maxLogitRows: 3, maxBatchTokens: 64 }
  const { scheduler } = openScheduler(200, limits)
  const submit = (tokens: number, score: boolean): number => {
    const prompt = Int32Array.from({ length: tokens }, (_, index) => index)
    const request = { ...generate, score, maxNewTokens: score ? 0 : 20 }
    return scheduler.submit(scheduler.createSession(''), prompt, request)
  }
  const planned = (): number[][] => {
    const { sequences } = scheduler.step()
    return Array.from({ length: sequences.length / 4 }, (_, at) => {
      const [request, , count, logits] = sequences.slice(4 * at, 4 * at + 4)
      return [request!, count!, logits!]
    })
  }
  const first = submit(4, false)
  expect(planned()).toEqual([[first, 4, 0]])
  const score = submit(100, true)
  const second = submit(10, false)
  // The score takes the rows that are left: of the second prompt all is computed but the last token.
  expect(planned()).toEqual([
    [first, 1, 0],
    [second, 9, 1],
    [score, 2, 2],
  ])
  expect(planned()).toEqual([
    [second, 1, 0],
    [first, 1, 0],
    [score, 1, 2],
  ])
  scheduler.check()
})
