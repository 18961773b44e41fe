// Nanoseconds an allocation and its free take on the cached path, one thread, ledger and statistics included; malloc
// beside it, and on a card cudaMallocAsync and cudaMalloc. PyTorch's allocator: scripts/bench/memory-allocator-torch.py.
'use strict'
const { join } = require('node:path')

const { testing } = require('node-gyp-build')(join(__dirname, '..', '..', '..'))

const MiB = 2 ** 20
const cases = [
  { name: '64 KiB', bytes: 65536 },
  { name: '4 MiB', bytes: 4 * MiB },
  { name: 'mix of 512 B to 8 MiB, 256 live', bytes: 0 },
]
const bar = 120

const median = (values) => Array.from(values).sort((a, b) => a - b)[values.length >> 1]

/** Batches are short, so that a median of many leaves out those in which another process had the core. */
function measure({ bytes }, device) {
  const costs = testing.allocationCosts({ device, bytes, live: 256, pairs: 1000, batches: 501 })
  return Object.entries(costs).map(([name, values]) => ({ name, value: median(values) }))
}

const bars = { octavo: `≤ ${bar}` }

function run({ device }) {
  const rows = []
  for (const each of cases) {
    for (const { name, value } of measure(each, device)) {
      rows.push([`${name}, ${each.name}: ns a pair`, value.toFixed(1), bars[name] ?? ''])
    }
  }
  return rows
}

module.exports = { title: 'Allocate and free on the cached path, one thread', run }
