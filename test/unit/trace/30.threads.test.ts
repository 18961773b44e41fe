import { buildEvents } from '../../../lib/trace/build.js'
import { openTrace } from '../../helpers/native-testing.js'

test('several threads record at once: every event once, nothing left live', () => {
  const [threads, rounds] = [8, 2000]
  const trace = openTrace({ ringEvents: 2 * threads * rounds + 1 })
  trace.hammer(threads, rounds, false)
  const snapshot = trace.snapshot()
  expect(snapshot).toMatchObject({ recorded: 2 * threads * rounds + 1, overwritten: 0, dropped: 0 })
  expect(snapshot).toMatchObject({ allocations: [], holdings: [] })
  const events = buildEvents(snapshot)
  events.forEach(({ sequence }, i) => expect(sequence).toBe(i + 1))
  for (let thread = 0; thread < threads; thread++) {
    const own = events.filter(({ owner, tag }) => tag !== null && owner.id === thread)
    expect(own).toHaveLength(2 * rounds)
    expect(new Set(own.map((event) => event.thread)).size).toBe(1)
    const operations = own.map(({ operation }) => operation)
    expect(operations.filter((name) => name === 'allocated')).toHaveLength(rounds)
    expect(operations.every((name, i) => (name === 'allocated') === (i % 2 === 0))).toBe(true)
  }
  trace.check()
})

test('levels and snapshots go on meanwhile, at any ring size', () => {
  const trace = openTrace({ ringEvents: 100 })
  trace.hammer(4, 20_000, true)
  trace.check()
  trace.setLevel(0)
  trace.setLevel(2)
  expect(trace.snapshot()).toMatchObject({ allocations: [], holdings: [], dropped: 0 })
  trace.hammer(4, 100, false)
  expect(trace.snapshot()).toMatchObject({ allocations: [], holdings: [] })
  trace.check()
})
