/** What the report says of programs that forget memory. */
import { compileAll, functionsOf, removeAll, scenario, summary } from './traced.js'

const onLinux = process.platform === 'linux' ? describe : describe.skip

onLinux('a traced program', () => {
  beforeAll(compileAll)
  afterAll(removeAll)

  it('has its leak named: function, bytes, count and share', () => {
    const { status, stderr, report } = scenario('leak')
    expect(status).toBe(7)
    expect(report).toMatchObject({
      reason: 'exit',
      complete: true,
      allocations: 13,
      frees: 10,
      unmatchedAllocations: 3,
      unmatchedBytes: 370368,
      unmatchedShare: 0.2307,
      deviceBytes: 370368,
      deviceBytesPeak: 2 * 123456 + 2 ** 20 + 123456,
      replaced: 0,
      lost: 0,
    })
    expect(summary(report.unmatched)).toEqual([['device', 3, 370368]])
    expect(report.unmatched[0]).toMatchObject({ callsFromStack: 3 })
    expect(functionsOf(report.unmatched[0]).slice(0, 3)).toEqual(['plant', 'leak', 'main'])
    expect(stderr).toMatch(/13 allocations, 10 frees, 3 unmatched \(23\.07 %\): 362 KiB/)
    expect(stderr).toMatch(
      /1\. 370368 bytes in 3 device allocations, age .* of 3 from here\n +plant\+0x/,
    )
  })

  it('that frees everything has nothing unmatched', () => {
    const { status, stderr, report } = scenario('clean')
    expect(status).toBe(0)
    expect(report).toMatchObject({
      allocations: 100,
      frees: 100,
      unmatchedBytes: 0,
      deviceBytesPeak: 4096,
    })
    expect(report.unmatched).toEqual([])
    expect(stderr).toMatch(/100 allocations, 100 frees, 0 unmatched \(0\.00 %\)/)
  })

  it('that frees twice is told where; a null and a refused allocation count for nothing', () => {
    const { status, stderr, report } = scenario('refused')
    expect(status).toBe(0)
    expect(report).toMatchObject({ allocations: 1, frees: 1, refusedFrees: 1, unknownFrees: 0 })
    expect(summary(report.refusedFreeGroups)).toEqual([['device', 1, 0]])
    expect(functionsOf(report.refusedFreeGroups[0]).slice(0, 2)).toEqual(['refused', 'main'])
    expect(stderr).toMatch(/never allocated:\n {2}1\. 1 free of device, age .*\n +refused\+0x/)
  })

  it('has every kind of memory told apart, whichever function frees it', () => {
    const { report } = scenario('kinds')
    const kinds = report.kinds.map(({ kind, allocations, frees, liveBytes, peakBytes }) => [
      kind,
      allocations,
      frees,
      liveBytes,
      peakBytes,
    ])
    expect(kinds).toEqual([
      ['device', 1, 0, 3 * 1024, 3 * 1024],
      ['managed', 1, 0, 2000, 2000],
      ['async', 3, 2, 4000, 12000],
      ['pinned', 2, 1, 6000, 13000],
      ['registered', 1, 0, 4096, 4096],
      ['stream', 1, 0, 0, 0],
    ])
    expect(report).toMatchObject({ allocations: 8, frees: 3, deviceBytesPeak: 3072 + 2000 + 12000 })
  })

  it('has its streams, events, graphs and pools counted', () => {
    const { report } = scenario('objects')
    const alive = report.kinds.map(({ kind, allocations, live }) => [kind, allocations, live])
    expect(alive).toEqual([
      ['stream', 3, 2],
      ['event', 5, 4],
      ['graph', 1, 1],
      ['pool', 1, 1],
    ])
    expect(report).toMatchObject({ allocations: 0, poolTrims: 1 })
  })

  it('holds physical memory while a handle or a mapping refers to it', () => {
    const { report } = scenario('virtual')
    const page = 2 ** 21
    expect(summary(report.unmatched)).toEqual([
      ['physical', 1, 3 * page],
      ['physical', 1, page],
    ])
    expect(report.unmatched.map((group) => functionsOf(group)[0])).toEqual([
      'handle_retained',
      'never_unmapped',
    ])
    expect(report).toMatchObject({
      allocations: 5,
      frees: 3,
      unknownFrees: 0,
      deviceBytesPeak: 6 * page,
    })
  })

  it('loses what was made in a context with it, and is told so', () => {
    const { report } = scenario('context')
    expect(report).toMatchObject({
      allocations: 3,
      frees: 0,
      unmatchedAllocations: 0,
      deviceBytes: 0,
    })
    expect(summary(report.endedWithContextGroups)).toEqual([
      ['device', 1, 500],
      ['device', 1, 500],
      ['device', 1, 500],
      ['stream', 1, 0],
    ])
  })

  it('keeps its leak in the report when its context goes only at the end', () => {
    const { report } = scenario('primary')
    expect(summary(report.unmatched)).toEqual([['device', 1, 800]])
    expect(summary(report.endedWithContextGroups)).toEqual([['device', 1, 700]])
  })

  it('may free in an atexit handler', () => {
    expect(scenario('late').report).toMatchObject({
      allocations: 1,
      frees: 1,
      unmatchedAllocations: 0,
    })
  })

  it('with eight threads that free what others allocated has exactly its leak reported', () => {
    const { status, report } = scenario('threads')
    expect(status).toBe(0)
    expect(report).toMatchObject({
      allocations: 16032,
      frees: 16000,
      replaced: 0,
      lost: 0,
      unknownFrees: 0,
    })
    expect(summary(report.unmatched)).toEqual([['device', 32, 32000]])
    expect(functionsOf(report.unmatched[0]).slice(0, 2)).toEqual(['plant', 'stress'])
  })

  it('shows as many stacks and frames as it was asked for', () => {
    const { stderr, report } = scenario(
      'kinds',
      '--top',
      '2',
      '--min-bytes',
      '3000',
      '--frames',
      '1',
    )
    expect(stderr).toMatch(/1\. 6000 bytes[\s\S]*2\. 4096 bytes[\s\S]*and 4 more stacks: 8\.86 KiB/)
    expect(report.unmatched.map(({ stack }) => stack.length)).toEqual([1, 1, 1, 1, 1, 1])
  })
})
