// A trace as sessions in time, compressed until enough of them live at once.
'use strict'

const PREFILL_TOKENS_A_SECOND = 40_000
const DECODE_TOKENS_A_SECOND = 50
const MOST_SESSIONS = 200
const MOST_BYTES = 100e9

/** Seconds a request lives: prefill without queueing, then decode. */
const duration = ({ input, output }) =>
  input / PREFILL_TOKENS_A_SECOND + output / DECODE_TOKENS_A_SECOND

/** The most that `weight(request)` adds up to over the requests alive at once, and when. */
function peakOf(requests, factor, weight) {
  const changes = requests.flatMap((request) => {
    const start = request.arrival / factor
    return [
      [start, weight(request)],
      [start + duration(request), -weight(request)],
    ]
  })
  changes.sort(([a, up], [b, down]) => a - b || up - down)
  let now = 0
  const peak = { value: 0, time: 0 }
  for (const [time, change] of changes) {
    now += change
    if (now > peak.value) Object.assign(peak, { value: now, time })
  }
  return peak
}

/** The smallest factor by which arrivals are compressed so that the peak reaches a bar; bisected to 0.1 %. */
function compression(requests, tokenBytes) {
  const reaches = (factor) =>
    peakOf(requests, factor, () => 1).value >= MOST_SESSIONS ||
    peakOf(requests, factor, ({ input, output }) => (input + output) * tokenBytes).value >=
      MOST_BYTES
  let [low, high] = [1 / 64, 1 / 64]
  while (!reaches(high)) [low, high] = [high, high * 2]
  while (high / low > 1.001) {
    const middle = Math.sqrt(low * high)
    if (reaches(middle)) high = middle
    else low = middle
  }
  return high
}

/**
 * The peak bytes of contiguous reservations: for what each request will need in the end, if that were known, and for
 * the longest request of the trace.
 */
function contiguous(requests, factor, tokenBytes) {
  const longest = Math.max(...requests.map(({ input, output }) => input + output))
  return {
    ownBytes: peakOf(requests, factor, ({ input, output }) => (input + output) * tokenBytes).value,
    longestBytes: peakOf(requests, factor, () => longest * tokenBytes).value,
  }
}

module.exports = {
  compression,
  contiguous,
  peakOf,
  DECODE_TOKENS_A_SECOND,
  PREFILL_TOKENS_A_SECOND,
}
