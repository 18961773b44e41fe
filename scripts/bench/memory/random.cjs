// A small generator of random numbers: the same traffic every time.
'use strict'

/** Numbers from 0 to 1, of a seed. */
function randomOf(seed) {
  let state = seed
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

module.exports = { randomOf }
