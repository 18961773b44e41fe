// Nanoseconds an allocation and its free take on the cached path, one thread, ledger and statistics included; malloc
// beside it, and on a card cudaMallocAsync, cudaMalloc and, where python3 has torch, PyTorch's caching allocator.
'use strict'
const { spawnSync } = require('node:child_process')
const { join } = require('node:path')

const { testing } = require('node-gyp-build')(join(__dirname, '..', '..', '..'))

const MiB = 2 ** 20
const cases = [
  { name: '64 KiB', bytes: 65536 },
  { name: '4 MiB', bytes: 4 * MiB },
  { name: 'mix of 512 B to 8 MiB, 256 live', bytes: 0 },
]
const bar = 120
const timesFaster = 5

const median = (values) => Array.from(values).sort((a, b) => a - b)[values.length >> 1]

/** Batches are short, so that a median of many leaves out those in which another process had the core. */
function measure({ bytes }, { device, rounds = 501 }) {
  const costs = testing.allocationCosts({ device, bytes, live: 256, pairs: 1000, batches: rounds })
  return Object.entries(costs).map(([name, values]) => ({ name, value: median(values) }))
}

/** PyTorch's figures by case, with Python's share and without; null where it cannot be run. */
function measureTorch(device) {
  if (device === 'cpu') return null
  const script = join(__dirname, '..', 'memory-allocator-torch.py')
  const { status, stdout, stderr, error } = spawnSync('python3', [script, '--json'], {
    encoding: 'utf8',
  })
  if (status === 0) return JSON.parse(stdout)
  console.log(
    `PyTorch could not be measured: ${error?.message ?? stderr.trim().split('\n').at(-1)}`,
  )
  return null
}

const round = (value) => Number(value.toFixed(1))

/** Ours beside the best of theirs that is a caching allocator too. */
function ownRow({ name, value }, { name: each }, peer) {
  const kept = {
    ...{ case: `allocate and free, cached, one thread, ${each}`, value: round(value) },
    ...{ unit: 'ns', better: 'lower', floor: bar, peer },
  }
  return [`${name}, ${each}: ns a pair`, value.toFixed(1), `≤ ${bar}`, kept]
}

function torchRows(torch, each, own) {
  const found = torch?.cases.find(({ name }) => name === each.name)
  if (found === undefined) return []
  const share = (value) => `${(value / own).toFixed(1)} × ours`
  return [
    [`PyTorch ${torch.version}, ${each.name}, from Python`, round(found.gross), share(found.gross)],
    [
      `PyTorch ${torch.version}, ${each.name}, Python's share off`,
      round(found.net),
      `${share(found.net)}; bar ${timesFaster} ×`,
      {
        ...{ case: `PyTorch's caching allocator takes so many times as long, ${each.name}` },
        ...{ value: round(found.net / own), unit: '×', better: 'higher', floor: timesFaster },
      },
    ],
  ]
}

function run(options) {
  const torch = measureTorch(options.device)
  return cases.flatMap((each) => {
    const costs = measure(each, options)
    const own = costs.find(({ name }) => name === 'octavo')
    const others = costs.filter((cost) => cost !== own)
    const best = others.find(({ name }) => name === 'cudaMallocAsync') ?? others[0]
    return [
      ownRow(own, each, { name: best.name, value: round(best.value) }),
      ...others.map(({ name, value }) => [
        `${name}, ${each.name}: ns a pair`,
        value.toFixed(1),
        `${(value / own.value).toFixed(1)} × ours`,
      ]),
      ...torchRows(torch, each, own.value),
    ]
  })
}

module.exports = { title: 'Allocate and free on the cached path, one thread', run }
