// Bytes over time, stacked: from events to the columns of a chart.

/** In a mapped segment the bytes come from the segment's line, and go back there. */
function withSegment(from, fromTag, effect) {
  return from < 0 ? [effect] : [[from, fromTag, -effect[2]], effect]
}

/** What an event does to the holdings: [[owner, tag, bytes], …]. */
function effectsOf(data, index) {
  const { operation, owner, tag, bytes, from, fromTag } = data.events
  const size = bytes[index]
  switch (data.operations[operation[index]]) {
    case 'segmentMapped':
      return [[owner[index], tag[index], size]]
    case 'segmentUnmapped':
      return [[owner[index], tag[index], -size]]
    case 'allocated':
      return withSegment(from[index], fromTag[index], [owner[index], tag[index], size])
    case 'freeCompleted':
      return withSegment(from[index], fromTag[index], [owner[index], tag[index], -size])
    case 'transferred':
      return [
        [from[index], fromTag[index], -size],
        [owner[index], tag[index], size],
      ]
    default:
      return []
  }
}

const namesOf = { owner: 'owners', tag: 'tags', region: 'regions' }

/** All changes as parallel lists; `key` indexes the names that `by` groups by. */
function changesOf(data, region, by) {
  const changes = { time: [], key: [], delta: [] }
  const { time, region: regions } = data.events
  for (let i = 0; i < time.length; i++) {
    if (region >= 0 && regions[i] !== region) continue
    for (const [owner, tag, delta] of effectsOf(data, i)) {
      changes.time.push(time[i])
      changes.key.push(by === 'owner' ? owner : by === 'tag' ? tag : regions[i])
      changes.delta.push(delta)
    }
  }
  return changes
}

/** Bytes by key at the end; the changes lead back from there to the beginning. */
function endOf(data, region, by, keys) {
  const end = new Float64Array(keys)
  for (const [ofRegion, owner, tag, bytes] of data.holdings) {
    if (region >= 0 && ofRegion !== region) continue
    end[by === 'owner' ? owner : by === 'tag' ? tag : ofRegion] += bytes
  }
  return end
}

/**
 * `region`: index or -1 for all. `by`: 'owner', 'tag' or 'region'. The `most` keys of the highest peaks get a
 * series each, the rest share 'other', drawn last. O(events).
 */
export function buildSeries(data, { region = -1, by = 'owner', most = 11 } = {}) {
  const names = data[namesOf[by]]
  const changes = changesOf(data, region, by)
  const end = endOf(data, region, by, names.length)
  const start = end.slice()
  const isComplete = data.statistics.length > 0
  if (isComplete) changes.key.forEach((key, i) => (start[key] -= changes.delta[i]))
  else start.fill(0)

  const current = start.slice()
  const peak = start.slice()
  changes.key.forEach((key, i) => {
    current[key] += changes.delta[i]
    if (current[key] > peak[key]) peak[key] = current[key]
  })
  const used = [...names.keys()].filter((key) => peak[key] > 0 || start[key] !== 0)
  used.sort((a, b) => peak[b] - peak[a] || a - b)
  const shown = used.slice(0, used.length > most + 1 ? most : used.length)
  const hasOther = shown.length < used.length
  const seriesOf = new Int32Array(names.length).fill(shown.length)
  shown.forEach((key, series) => (seriesOf[key] = series))
  const count = shown.length + (hasOther ? 1 : 0)
  const startOf = new Float64Array(count)
  for (const key of used) startOf[seriesOf[key]] += start[key]
  return {
    names: [...shown.map((key) => names[key]), ...(hasOther ? ['other'] : [])],
    merged: used.length - shown.length,
    start: startOf,
    time: Float64Array.from(changes.time),
    series: Int32Array.from(changes.key, (key) => seriesOf[key]),
    delta: Float64Array.from(changes.delta),
    duration: Math.max(data.endNs, changes.time.at(-1) ?? 0, 1),
  }
}

/**
 * `width` columns over [from, to]: in each the moment of the highest total, so that no peak is lost however
 * many events a pixel holds. values[column × series + i]. O(changes + width × series).
 */
export function binSeries(series, from, to, width) {
  const count = series.start.length
  const values = new Float64Array(width * count)
  const totals = new Float64Array(width)
  const current = series.start.slice()
  let total = current.reduce((sum, bytes) => sum + bytes, 0)
  let next = 0
  const step = (to - from) / width
  const apply = () => {
    current[series.series[next]] += series.delta[next]
    total += series.delta[next]
    next++
  }
  while (next < series.time.length && series.time[next] < from) apply()
  for (let column = 0; column < width; column++) {
    const end = column === width - 1 ? to : from + (column + 1) * step
    totals[column] = total
    values.set(current, column * count)
    // Changes of one moment (a transfer has two) count once all of them are made.
    while (next < series.time.length && series.time[next] <= end) {
      const moment = series.time[next]
      while (next < series.time.length && series.time[next] === moment) apply()
      if (total <= totals[column]) continue
      totals[column] = total
      values.set(current, column * count)
    }
  }
  return { values, totals, count, width }
}

/** Bytes of each series at a moment, after its events. */
export function valuesAt(series, time) {
  const current = series.start.slice()
  for (let i = 0; i < series.time.length && series.time[i] <= time; i++) {
    current[series.series[i]] += series.delta[i]
  }
  return current
}

/** The index of the event nearest to `time`; -1 without events. */
export function nearestEvent(times, time) {
  if (times.length === 0) return -1
  let low = 0
  let high = times.length - 1
  while (low < high) {
    const middle = (low + high) >> 1
    if (times[middle] < time) low = middle + 1
    else high = middle
  }
  return low > 0 && time - times[low - 1] < times[low] - time ? low - 1 : low
}
