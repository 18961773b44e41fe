// PyTorch's kernels beside ours, on the same card in the same run, where python3 has torch and a card.
'use strict'
const { spawnSync } = require('node:child_process')
const { onlyArguments, parseLines } = require('./program.cjs')

const python = process.env.PYTHON ?? 'python3'

/** True where `python3` has torch and torch has a card. */
function hasTorch() {
  const probe = 'import sys, torch; sys.exit(0 if torch.cuda.is_available() else 1)'
  return spawnSync(python, ['-c', probe], { stdio: 'ignore' }).status === 0
}

/** [{ case, name, value, unit }] of a script; what it had printed before it failed is kept, and ours always. */
function runPeers(script, only) {
  const { status, stdout } = spawnSync(python, [script, ...onlyArguments(only)], {
    encoding: 'utf8',
    maxBuffer: 1 << 26,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  if (status !== 0) console.error(`${script} ended with ${status}: its peers are not complete`)
  try {
    return parseLines(stdout)
  } catch (error) {
    console.error(`${script}: ${error.message}`)
    return []
  }
}

module.exports = { hasTorch, runPeers }
