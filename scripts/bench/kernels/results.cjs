// What was measured beside its peer, floor, goal and limit: one result a bar, in the order of the bars.
'use strict'

/** The best of the peers that ran; else the quoted figure of the bar, and said so. */
function peerOf(bar, peers) {
  const ran = peers.filter((peer) => peer.case === bar.case)
  for (const { unit } of ran) {
    if (unit !== bar.unit) throw new Error(`${bar.case}: a peer in ${unit}, the bar in ${bar.unit}`)
  }
  const sign = bar.better === 'higher' ? 1 : -1
  ran.sort((a, b) => sign * (b.value - a.value))
  if (ran.length > 0) return { name: ran[0].name, value: ran[0].value, ran: true }
  return bar.peer ? { name: `${bar.peer.name}, quoted`, value: bar.peer.value, ran: false } : null
}

/** A bar that is a share of the peer exists only where the peer ran. */
function barValue(fixed, share, peer) {
  if (share !== undefined) return peer?.ran ? share * peer.value : null
  return fixed ?? null
}

/** 'not yet' (no kernel runs it), 'not measured', 'wrong', 'below the floor', 'floor met', 'goal met', or '' where there is no bar. */
function verdictOf({ better, floor, goal }, measured, isRunnable) {
  if (measured === undefined) return isRunnable ? 'not measured' : 'not yet'
  if (measured.value === undefined) return 'wrong'
  const reaches = (bar) => (better === 'higher' ? measured.value >= bar : measured.value <= bar)
  if (goal !== null && reaches(goal)) return 'goal met'
  if (floor === null) return ''
  return reaches(floor) ? 'floor met' : 'below the floor'
}

function resultOf(bar, measured, peers, isRunnable) {
  if (measured?.unit !== undefined && measured.unit !== bar.unit)
    throw new Error(`${bar.case}: measured in ${measured.unit}, the bar in ${bar.unit}`)
  const peer = peerOf(bar, peers)
  const found = {
    case: bar.case,
    unit: bar.unit,
    better: bar.better,
    value: measured?.value ?? null,
    floor: barValue(bar.floor, bar.floorOfPeer, peer),
    goal: barValue(bar.goal, bar.goalOfPeer, peer),
    peer: peer && { name: peer.name, value: peer.value },
    limit: measured?.limit ?? null,
    error: measured?.error ?? null,
  }
  return { ...found, verdict: verdictOf(found, measured, isRunnable) }
}

/** Throws where a case of the program has no bar: its row would say nothing of what it must reach. */
function checkCases(bars, cases) {
  const known = new Set(bars.map((bar) => bar.case))
  const missing = cases.filter((name) => !known.has(name))
  if (missing.length > 0) throw new Error(`no bar is written down for: ${missing.join('; ')}`)
}

/** `runnable`: the names of the cases that the program has kernels for. */
function resultsOf(bars, { runnable, measured, peers }) {
  return bars.map((bar) => {
    const ours = measured.find((of) => of.case === bar.case)
    return resultOf(bar, ours, peers, runnable.includes(bar.case))
  })
}

/** Results as docs/performance.json keeps them; only what was measured, and was right. */
function rowsOf(results, { area, card, commit, date }) {
  return results
    .filter((result) => result.value !== null)
    .map((result) => ({
      area,
      case: result.case,
      value: result.value,
      unit: result.unit,
      better: result.better,
      floor: result.floor,
      goal: result.goal,
      peer: result.peer,
      limit: result.limit,
      card,
      date,
      commit,
    }))
}

module.exports = { checkCases, resultsOf, rowsOf }
