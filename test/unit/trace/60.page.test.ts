/** The page of `octavo trace view`: what is in it, and what its functions make of it. */
import { viewerPage } from '../../../lib/trace/page.js'
import { viewData } from '../../../lib/trace/view-data.js'
import { randomSnapshot } from '../../helpers/snapshots.js'
import { dataOf, functionsOf } from '../../helpers/viewer-page.js'

const snapshot = randomSnapshot(3000)
const page = viewerPage(viewData(snapshot, 'a </title> & "b".json'))
const data = dataOf(page)
const viewer = functionsOf(page)
const sum = (values: Iterable<number>): number => [...values].reduce((all, value) => all + value, 0)

it('is whole in itself: no address of anything else, and a policy that would load none', () => {
  expect(page).toMatch(/^<!doctype html>/)
  expect(page).toContain(
    `content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"`,
  )
  expect(page).not.toMatch(/https?:|src=|<link|@import|url\(|import\(/)
  expect(page).not.toMatch(/\{\{\w+\}\}/)
})

it('holds names from a file as text, never as markup', () => {
  expect(page).toContain('<title>a &lt;/title&gt; &amp; "b".json')
  expect(page).not.toContain('<b>')
  expect(page.match(/<\/script>/g)).toHaveLength(2)
  expect(data.frames[2]).toBe('main </script><b>  (node+0x30)')
  expect(data.title).toBe('a </title> & "b".json')
})

it('holds every event', () => {
  expect(data.events.time).toHaveLength(snapshot.events.length)
  snapshot.events.forEach((event, i) => {
    const owner = event.owner.kind === 'engine' ? 'engine' : `session ${event.owner.id}`
    expect(data.operations[data.events.operation[i]!]).toBe(event.operation)
    expect(data.owners[data.events.owner[i]!]).toBe(owner)
    expect(data.events.bytes[i]).toBe(event.bytes)
    expect(data.threads[data.events.thread[i]!]).toBe(event.thread)
  })
})

/** Bytes by owner after each event, played forwards. */
function* played(): Generator<Map<string, number>> {
  const held = new Map<string, number>()
  const add = (owner: { kind: string; id: number }, bytes: number): void => {
    const name = owner.kind === 'engine' ? 'engine' : `session ${owner.id}`
    held.set(name, (held.get(name) ?? 0) + bytes)
  }
  for (const { operation, owner, from, bytes } of snapshot.events) {
    if (operation === 'allocated') add(owner, bytes)
    if (operation === 'freeCompleted') add(owner, -bytes)
    if (operation === 'transferred') add(from!, -bytes)
    if (operation === 'transferred') add(owner, bytes)
    yield held
  }
}

describe('the timeline', () => {
  it('leads from the snapshot back to the beginning: the bytes of every owner at every event', () => {
    const series = viewer.buildSeries(data, { most: 1000 })
    expect(series.merged).toBe(0)
    expect(sum(series.start.map(Math.abs))).toBe(0)
    let index = 0
    for (const held of played()) {
      if (index % 37 === 0) {
        const values = viewer.valuesAt(series, data.events.time[index]!)
        series.names.forEach((name, i) => expect(values[i]).toBe(held.get(name) ?? 0))
      }
      index++
    }
    const end = viewer.valuesAt(series, Infinity)
    const held = sum(data.holdings.map(([, , , bytes]) => bytes!))
    expect(sum(end)).toBe(held)
  })

  it('gives the highest peaks a series each and the rest one, in all the same bytes', () => {
    const all = viewer.buildSeries(data, { most: 1000 })
    const few = viewer.buildSeries(data, { most: 4 })
    expect(few.names).toHaveLength(5)
    expect(few.names).toEqual([...all.names.slice(0, 4), 'other'])
    expect(few.merged).toBe(all.names.length - 4)
    for (const time of [0, data.endNs / 3, data.endNs]) {
      expect(sum(viewer.valuesAt(few, time))).toBe(sum(viewer.valuesAt(all, time)))
    }
  })

  it('of one region, by tag or region, adds up to that region', () => {
    const kv = data.regions.indexOf('kv')
    for (const by of ['owner', 'tag', 'region']) {
      const end = viewer.valuesAt(viewer.buildSeries(data, { region: kv, by }), Infinity)
      expect(sum(end)).toBe(500 * 64 * 1024)
    }
    expect(viewer.buildSeries(data, { region: kv, by: 'tag' }).names).toEqual(
      expect.arrayContaining(['kv', 'kv.free', 'kv.blocks']),
    )
  })

  it('drawn in few columns loses no peak', () => {
    const series = viewer.buildSeries(data)
    const totals = data.events.time.map((time) => sum(viewer.valuesAt(series, time)))
    for (const width of [1, 10, 333]) {
      const bins = viewer.binSeries(series, 0, series.duration, width)
      expect(Math.max(...bins.totals)).toBe(Math.max(...totals))
      for (let column = 0; column < width; column++) {
        const values = bins.values.subarray(column * bins.count, (column + 1) * bins.count)
        expect(sum(values)).toBe(bins.totals[column])
      }
    }
  })

  it('drawn of a part begins with what was held before it', () => {
    const series = viewer.buildSeries(data)
    const [from, to] = [data.endNs * 0.4, data.endNs * 0.4 + 1]
    const bins = viewer.binSeries(series, from, to, 5)
    const before = viewer.valuesAt(series, from)
    expect([...bins.values.subarray(0, bins.count)]).toEqual([...before])
  })

  it('counts from zero where the snapshot says nothing of the end: a spill file', () => {
    const spill = { ...snapshot, statistics: null, trace: null, segments: [], owners: [] }
    const only = dataOf(viewerPage(viewData(spill, 'spill')))
    const series = viewer.buildSeries(only, { most: 1000 })
    expect(sum(series.start)).toBe(0)
    expect(sum(viewer.valuesAt(series, Infinity))).toBe(sum(data.holdings.map((held) => held[3]!)))
    expect(only.notes.join()).toMatch(/spill file/)
  })

  it('moves bytes between the line of a mapped segment and the allocations in it', () => {
    const engine = { kind: 'engine', id: 0 } as const
    const about = { region: 'workspace', stack: 0, thread: 1, bytes: 100 } as const
    const mine = { ...about, owner: { kind: 'session', id: 1 }, tag: 'a', address: 4096 } as const
    const pool = { ...about, owner: engine, tag: 'cached', address: 4096, bytes: 1000 } as const
    const home = { from: engine, fromTag: 'cached' }
    const events = [
      { ...pool, operation: 'segmentMapped' },
      { ...mine, ...home, operation: 'allocated' },
      { ...mine, ...home, operation: 'freeCompleted' },
      { ...pool, operation: 'segmentUnmapped' },
    ] as const
    const numbered = events.map((event, i) => ({ ...event, sequence: i + 1, timeNs: i * 10 }))
    const only = { ...snapshot, segments: [], owners: [], events: numbered, timeNs: 50 }
    const made = dataOf(viewerPage(viewData(only, 'pool')))
    const series = viewer.buildSeries(made)
    const at = (time: number): number[] => [...viewer.valuesAt(series, time)]
    expect(series.names).toEqual(['engine', 'session 1'])
    expect([0, 10, 20, 30].map(at)).toEqual([
      [1000, 0],
      [900, 100],
      [1000, 0],
      [0, 0],
    ])
    expect(viewer.eventTexts(made, 1).owner).toBe('engine / cached → session 1')
    expect(viewer.eventTexts(made, 2).owner).toBe('session 1 → engine / cached')
  })

  it('finds the nearest event', () => {
    expect(viewer.nearestEvent([], 5)).toBe(-1)
    const times = [0, 10, 20, 30]
    expect([-5, 4, 6, 15, 16, 99].map((time) => viewer.nearestEvent(times, time))).toEqual([
      0, 0, 1, 2, 2, 3,
    ])
  })
})

describe('the map', () => {
  it('draws every byte of every block once, in proportion', () => {
    const width = 800
    const { rects, heads, lineBytes } = viewer.layoutMap(data.segments, { width })
    expect(heads.map(({ segment }) => segment)).toEqual([...data.segments.keys()])
    data.segments.forEach((segment, index) => {
      const own = rects.filter((rect) => rect.segment === index)
      const drawn = sum(own.map(({ w }) => w)) * (lineBytes / width)
      expect(Math.abs(drawn - segment.bytes)).toBeLessThanOrEqual(
        (own.length + 2) * (lineBytes / width),
      )
    })
    expect(rects.every(({ x, w }) => x >= 0 && x + w <= width + 1)).toBe(true)
  })

  it('merges what is narrower than a pixel, so that a line stays drawable', () => {
    const blocks = Array.from({ length: 50_000 }, (_, i) => [512 * i, 512, 0, i % 2, 0, 1, 0])
    const segment = {
      address: 0,
      bytes: 512 * 50_000,
      region: 0,
      owner: 0,
      tag: 0,
      stack: 0,
      blocks,
    }
    const { rects, height } = viewer.layoutMap([segment], { width: 500, lines: 10 })
    expect(rects.length).toBeLessThanOrEqual(500 * 11)
    expect(sum(rects.map(({ merged }) => merged))).toBeGreaterThanOrEqual(50_000)
    expect(height).toBeLessThan(400)
  })

  it('knows what lies under a point', () => {
    const { rects } = viewer.layoutMap(data.segments, { width: 800 })
    rects.forEach((rect, index) => {
      if (rect.w >= 2) expect(viewer.rectAt(rects, rect.x + 1, rect.y + 1)).toBe(index)
    })
    expect(viewer.rectAt(rects, 5, -5)).toBe(-1)
  })
})

describe('the list', () => {
  const count = (filter: object): number => viewer.filterEvents(data, filter).length

  it('filters by every field, and by text in any', () => {
    expect(count({})).toBe(snapshot.events.length)
    const of = (test: (event: (typeof snapshot.events)[0]) => boolean): number =>
      snapshot.events.filter(test).length
    const operation = data.operations.indexOf('freeCompleted')
    expect(count({ operation })).toBe(of((event) => event.operation === 'freeCompleted'))
    const owner = data.owners.indexOf('session 7')
    const isSeven = (held?: { kind: string; id: number }): boolean =>
      held?.kind === 'session' && held.id === 7
    expect(count({ owner })).toBe(of((event) => isSeven(event.owner) || isSeven(event.from)))
    expect(count({ text: 'kv.blocks' })).toBe(of((event) => event.tag === 'kv.blocks'))
    expect(count({ text: 'POOL::take' })).toBe(of(({ stack }) => stack === 1))
    expect(count({ text: '#17' })).toBe(1)
    const { address } = snapshot.events.find((event) => event.operation === 'freeCompleted')!
    expect(count({ text: `0x${address!.toString(16)}` })).toBe(
      of((event) => event.address === address),
    )
    expect(count({ text: 'no such thing' })).toBe(0)
    const [from, to] = [data.events.time[100]!, data.events.time[199]!]
    expect(count({ from, to })).toBe(100)
  })

  it('tells each event in words', () => {
    const index = snapshot.events.findIndex(
      ({ operation, tag }) => operation === 'transferred' && tag === 'kv.blocks',
    )
    const { owner, bytes } = snapshot.events[index]!
    expect(viewer.eventTexts(data, index)).toMatchObject({
      sequence: `#${index + 1}`,
      operation: 'transferred',
      owner: `engine / kv.free → session ${owner.id}`,
      bytes: viewer.formatBytes(bytes),
      address: '',
    })
    expect(viewer.eventTexts(data, 0)).toMatchObject({
      operation: 'levelChanged',
      bytes: 'level 2',
      region: '',
    })
  })

  it('sorts owners by each column', () => {
    const bytes = viewer.sortHoldings(data, 3).map((held) => held[3]!)
    expect(bytes).toEqual([...bytes].sort((a, b) => b - a))
    const names = viewer.sortHoldings(data, 0).map((held) => data.owners[held[1]!]!)
    expect(names.indexOf('session 9')).toBeLessThan(names.indexOf('session 10'))
  })
})

describe('figures', () => {
  it.each([
    [0, '0 bytes'],
    [1023, '1023 bytes'],
    [1536, '1.50 KiB'],
    [-(20 * 2 ** 20), '−20.0 MiB'],
    [300 * 2 ** 30, '300 GiB'],
  ])('%d bytes read %s', (bytes, text) => expect(viewer.formatBytes(bytes)).toBe(text))

  it.each([
    [7, '7 ns'],
    [1500, '1.50 µs'],
    [12_345_678, '12.3 ms'],
    [98.7e9, '98.7 s'],
  ])('%d ns read %s', (ns, text) => expect(viewer.formatTime(ns)).toBe(text))

  it('ticks are round, within the span and about as many as asked', () => {
    expect(viewer.niceTicks(0, 10, 5)).toEqual([0, 2, 4, 6, 8, 10])
    expect(viewer.niceTicks(0, 5000, 4, true)).toEqual([0, 2048, 4096])
    expect(viewer.niceTicks(3, 3, 4)).toEqual([3])
  })

  it('a name has one colour, and neighbours differ', () => {
    expect(viewer.colorOf('session 3', true)).toBe(viewer.colorOf('session 3', true))
    for (let id = 1; id < 50; id++) {
      const apart = Math.abs(viewer.hueOf(`session ${id}`) - viewer.hueOf(`session ${id + 1}`))
      expect(Math.min(apart, 360 - apart)).toBeGreaterThan(90)
    }
  })
})

describe('a huge snapshot', () => {
  const huge = randomSnapshot(120_000, 5)

  it('makes a page of bounded size that still adds up', () => {
    const large = viewerPage(viewData(huge, 'huge'))
    expect(large.length).toBeLessThan(120 * 120_000)
    const held = dataOf(large)
    const bins = viewer.binSeries(viewer.buildSeries(held), 0, held.endNs, 1200)
    expect(sum(viewer.valuesAt(viewer.buildSeries(held), Infinity))).toBe(
      sum(held.holdings.map((h) => h[3]!)),
    )
    expect(bins.totals).toHaveLength(1200)
  })

  it('is cut to the newest events, and says so', () => {
    const cut = viewData(huge, 'huge', 5000)
    expect(cut.events.time).toHaveLength(5000)
    expect(cut.events.firstSequence).toBe(huge.events.at(-5000)!.sequence)
    expect(cut.notes.join()).toMatch(/holds the newest 5000/)
    // What was held before the first event is known all the same.
    const series = viewer.buildSeries(cut, { most: 1000 })
    const whole = viewer.buildSeries(viewData(huge, 'huge'), { most: 1000 })
    const offset = huge.events.at(-5000)!.timeNs - huge.events[0]!.timeNs
    for (const at of [0, cut.endNs / 2]) {
      expect(sum(viewer.valuesAt(series, at))).toBe(sum(viewer.valuesAt(whole, at + offset)))
    }
  })
})
