/** The ladder under pressure of the host's memory: every rung up and down, driven by files of a made-up host. */
import { story } from '../helpers/goldens.js'
import { FakeHost } from '../helpers/fake-host.js'
import { TestEngine, type RequestOptions, type Running } from '../helpers/native-engine.js'
import { refusal } from '../helpers/refusal.js'

const GiB = 2 ** 30
const MiB = 2 ** 20

let host: FakeHost
let engine: TestEngine
beforeEach(async () => {
  host = new FakeHost()
  engine = await TestEngine.load({ testing: { hostRoot: host.root } })
})
afterEach(async () => {
  engine.native.check()
  await engine.close()
  host.remove()
})

/** Reads the host anew, `times` over. */
function level(times = 1): string {
  for (let time = 0; time < times; time++) engine.native.pollHost()
  return engine.native.report().host.level
}

const free = (bytes: number): { current: number; fileCache: number } => ({
  current: 4 * GiB - bytes,
  fileCache: 0,
})

test('what is read: limits, page cache as free, stalls and events', () => {
  host.set({
    high: 3 * GiB,
    someStall: 2.5,
    fullStall: 1.25,
    events: { high: 3, max: 2, oom_kill: 1 },
  })
  engine.native.pollHost()
  const { events: _, residentBytes, ...seen } = engine.native.report().host
  expect(residentBytes).toBeGreaterThan(10 * MiB)
  expect(seen).toMatchObject({
    totalBytes: 3 * GiB,
    freeBytes: 3 * GiB - GiB / 2,
    someStall: 2.5,
    fullStall: 1.25,
    highEvents: 3,
    maxEvents: 2,
    oomKills: 1,
  })
})

test('counters from before the load are no alarm', async () => {
  host.set({ events: { high: 9, max: 9, oom_kill: 9 } })
  const late = await TestEngine.load({ testing: { hostRoot: host.root } })
  late.native.pollHost()
  expect(late.native.report().host.level).toBe('none')
  late.native.dispose()
})

test.each([
  ['4 % free', { ...free(0.04 * 4 * GiB) }, 'tight', /4\.00 % of 4 GiB free/],
  ['1 % free', { ...free(0.01 * 4 * GiB) }, 'critical', /1\.00 % of 4 GiB free/],
  ['no memory on the machine', { available: 100 * MiB }, 'tight', /2\.44 % of 4 GiB free/],
  [
    'memory.high passed',
    { events: { high: 1, max: 0, oom_kill: 0 } },
    'tight',
    /memory\.high was passed/,
  ],
  [
    'memory.max met',
    { events: { high: 0, max: 1, oom_kill: 0 } },
    'critical',
    /memory\.max was met/,
  ],
  ['a kill', { events: { high: 0, max: 0, oom_kill: 1 } }, 'critical', /was killed/],
  [
    'some waiting',
    { ...free(0.2 * 4 * GiB), someStall: 12 },
    'tight',
    /some task waited for memory 12\.00 %/,
  ],
  [
    'all waiting',
    { ...free(0.2 * 4 * GiB), fullStall: 10 },
    'critical',
    /all tasks waited for memory 10\.00 %/,
  ],
])('%s', (_, state, expected, reason) => {
  host.set(state)
  expect(level()).toBe(expected)
  const { events } = engine.native.report().host
  expect(events[0]).toMatchObject({
    level: expected,
    action: expect.stringMatching(reason) as string,
  })
  expect(events[1]!.action).toBe('gave the page cache of 1 checkpoint files back')
})

test('page cache that fills the group is no pressure', () => {
  host.set({ current: 4 * GiB - MiB, fileCache: 3 * GiB })
  expect(level(5)).toBe('none')
  expect(engine.native.report().host.events).toEqual([])
})

test('waiting while much is free is no pressure of ours', () => {
  host.set({ someStall: 90, fullStall: 90 })
  expect(level(5)).toBe('none')
})

test('a rung is left after three calm readings, one at a time', () => {
  host.set({ events: { high: 0, max: 1, oom_kill: 0 } })
  expect(level()).toBe('critical')
  expect(level(2)).toBe('critical')
  expect(level()).toBe('tight')
  expect(level(2)).toBe('tight')
  host.set({ ...free(0.2 * 4 * GiB), someStall: 50 })
  expect(level()).toBe('tight')
  host.set({ someStall: 0 })
  expect(level(2)).toBe('tight')
  expect(level()).toBe('none')
  const rungs = engine.native.report().host.events.filter(({ action }) => action === 'calm again')
  expect(rungs.map((event) => event.level)).toEqual(['tight', 'none'])
})

test('tight: what runs goes on, one request at a time is admitted, and all end right', async () => {
  const start = (credits?: number): Running =>
    engine.start(engine.native.createSession(), {
      maxNewTokens: 60,
      ...(credits !== undefined && { credits }),
    })
  const first = start(2)
  await first.produced(2)
  host.set({ ...free(0.2 * 4 * GiB), someStall: 30 })
  expect(level()).toBe('tight')
  const later = [start(), start(), start()]
  // Only one of the three runs while the others wait: their ends come one after the other.
  const order: number[] = []
  await Promise.all(later.map(async (running) => order.push((await running.finish).request)))
  expect(order).toEqual(later.map(({ id }) => id))
  engine.native.grant(first.id, 100)
  await first.finish
  for (const { tokens } of [first, ...later]) expect(tokens).toEqual(story.slice(1, 61))
  const spans = later.map(({ finishes }) => finishes[0]!.timings)
  for (const [index, { admitted }] of spans.entries()) {
    if (index > 0) expect(admitted).toBeGreaterThanOrEqual(spans[index - 1]!.finished)
  }
})

test('critical: new requests are refused with the numbers, those that were taken end', async () => {
  const session = engine.native.createSession()
  const running = engine.start(session, { maxNewTokens: 60, credits: 2 })
  await running.produced(2)
  host.set(free(10 * MiB))
  expect(level()).toBe('critical')
  const other = engine.native.createSession()
  const { code, message } = refusal(() => engine.start(other))
  expect(code).toBe('OCTAVO_OUT_OF_MEMORY')
  expect(message).toMatch(/the host is short of memory \(0\.24 % of 4 GiB free\).*try again later/)
  engine.native.grant(running.id, 100)
  expect((await running.finish).reason).toBe('length')
  expect(running.tokens).toEqual(story.slice(1, 61))
  host.set({ current: GiB })
  expect(level(6)).toBe('none')
  expect((await engine.run(other, { maxNewTokens: 5 })).tokens).toEqual(story.slice(1, 6))
})

describe('logits that the host cannot hold', () => {
  const row = 4 * 512
  const score = (positions: number): RequestOptions => ({
    score: true,
    maxNewTokens: 0,
    credits: 0,
    prompt: story.slice(0, positions),
  })
  /** Of 8 MiB, of which two in a hundred are kept. */
  const room = (positions: number): void => {
    const kept = Math.floor(0.02 * 8 * MiB)
    host.set({ max: 8 * MiB, current: 8 * MiB - kept - positions * row, fileCache: 0 })
  }

  test('are refused before anything is taken, with the numbers, to the position', async () => {
    room(100)
    const session = engine.native.createSession()
    const { code, message } = refusal(() => engine.start(session, score(101)))
    expect(code).toBe('OCTAVO_OUT_OF_MEMORY')
    expect(message).toBe(
      'the logits of 101 positions by 512 tokens take 202 KiB of host memory; 363.84 KiB of 8 MiB are free, of which ' +
        '163.84 KiB are kept for the process and for scores that run: 100 positions fit; score fewer a call, or raise ' +
        'the limit of the control group',
    )
    expect(engine.native.report().sessions).toHaveLength(1)
    const { finishes } = await engine.run(session, score(100))
    expect(finishes[0]!.logits).toHaveLength(100 * 512)
    host.set({ fileCache: 4 * MiB }) // page cache is free memory
    expect((await engine.run(session, score(101))).finishes[0]!.logits).toHaveLength(101 * 512)
  })

  test('count what was promised to others until it is written or given up', async () => {
    const still = await TestEngine.load({ testing: { hostRoot: host.root, neverPlan: true } })
    room(100)
    const [one, other] = [still.native.createSession(), still.native.createSession()]
    const waiting = still.start(one, score(60))
    const { message } = refusal(() => still.start(other, score(41)))
    expect(message).toContain('40 positions fit')
    const beside = still.start(other, score(40))
    expect(refusal(() => still.start(still.native.createSession(), score(1))).message).toContain(
      ' 0 positions fit',
    )
    still.native.cancel(waiting.id)
    still.native.cancel(beside.id)
    still.start(one, score(100))
    still.native.dispose()
    for (let round = 0; round < 3; round++) {
      expect((await engine.fresh(score(100))).finishes[0]!.logits).toHaveLength(100 * 512)
    }
  })

  test('generations need none', async () => {
    room(0)
    const { tokens } = await engine.fresh({ maxNewTokens: 5 })
    expect(tokens).toEqual(story.slice(1, 6))
  })
})

test('the log keeps the last 64 events', () => {
  for (let round = 0; round < 40; round++) {
    host.set({ events: { high: round + 1, max: 0, oom_kill: 0 } })
    expect(level()).toBe('tight')
    expect(level(3)).toBe('none')
  }
  expect(engine.native.report().host.events).toHaveLength(64)
})

test('a host without any of the files is calm', async () => {
  const bare = await TestEngine.load({ testing: { hostRoot: '/no/such/folder/' } })
  bare.native.pollHost()
  expect(bare.native.report().host).toMatchObject({ level: 'none', totalBytes: 0, events: [] })
  bare.native.dispose()
})

test('may be asked for until the engine is gone, whoever disposes it', async () => {
  for (let round = 0; round < 20; round++) {
    const leaving = await TestEngine.load({ testing: { hostRoot: host.root } })
    const gone = leaving.native.disposeAsync()
    const asking = async (): Promise<void> => {
      for (;;) {
        leaving.native.pollHost()
        await new Promise(setImmediate)
      }
    }
    await expect(asking()).rejects.toMatchObject({ code: 'OCTAVO_DISPOSED' })
    await gone
  }
})
