// Section `allocator` of `npm run bench:memory`: nanoseconds an allocation and its free take on the cached path, one
// thread, ledger and statistics included; malloc beside it, and on a card cudaMallocAsync and cudaMalloc. PyTorch's
// allocator: scripts/bench/memory-allocator-torch.py.
'use strict'
const { join } = require('node:path')

const { testing } = require('node-gyp-build')(join(__dirname, '..', '..'))

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

function run({ device, row }) {
  const rows = []
  const table = {}
  for (const each of cases) {
    const [ours, ...others] = measure(each, device)
    table[each.name] = Object.fromEntries(
      [ours, ...others].map(({ name, value }) => [name, Number(value.toFixed(1))]),
    )
    const peer = others.find(({ name }) => name === 'cudaMallocAsync') ?? others[0]
    const name = `allocate and free, ${each.name}`
    const bars = { floor: bar, goal: bar / 2, peer, limit: null }
    rows.push(row({ case: name, value: ours.value, unit: 'ns', better: 'lower', ...bars }))
  }
  console.log('\nallocate and free, cached, one thread: nanoseconds a pair, medians')
  console.table(table)
  return rows
}

module.exports = { run }
