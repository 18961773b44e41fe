import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { hostTesting } from '../../helpers/host-testing.js'

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'octavo-cgroup-'))
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

/** A system as its files show it: path below the root → contents. */
function limitsOf(files: Record<string, string>) {
  for (const [path, contents] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), `${contents}\n`)
  }
  return hostTesting.cgroupLimits({ root: `${root}/` })
}

const none = { limitBytes: null, usedBytes: null, cores: null }
const v2 = '30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate'
const v1Memory = '35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory'
const v1Cpu = '32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct'
const group = 'sys/fs/cgroup/a/b'

test('no control groups at all', () => {
  expect(limitsOf({})).toEqual(none)
  expect(
    limitsOf({ 'proc/self/cgroup': 'nonsense', 'proc/self/mountinfo': 'more\nof it' }),
  ).toEqual(none)
})

test('version 2 without limits', () => {
  const files = {
    'proc/self/cgroup': '0::/a/b',
    'proc/self/mountinfo': v2,
    [`${group}/memory.max`]: 'max',
    [`${group}/cpu.max`]: 'max 100000',
  }
  expect(limitsOf(files)).toEqual(none)
})

test('version 2: page cache does not count as used', () => {
  const files = {
    'proc/self/cgroup': '0::/a/b',
    'proc/self/mountinfo': v2,
    [`${group}/memory.max`]: '75161927680',
    [`${group}/memory.current`]: '73981792256',
    [`${group}/memory.stat`]:
      'anon 1000\nfile 73000000000\ninactive_file 70000000000\nactive_file 3000000000',
    [`${group}/cpu.max`]: '150000 100000',
  }
  expect(limitsOf(files)).toEqual({ limitBytes: 75161927680, usedBytes: 981792256, cores: 1.5 })
})

test('version 2: the tightest of all groups above counts', () => {
  const files = {
    'proc/self/cgroup': '0::/a/b',
    'proc/self/mountinfo': v2,
    [`${group}/memory.max`]: '4000',
    [`${group}/memory.current`]: '100',
    'sys/fs/cgroup/a/memory.max': '3000',
    'sys/fs/cgroup/a/memory.current': '2900',
    [`${group}/cpu.max`]: '400000 100000',
    'sys/fs/cgroup/a/cpu.max': '50000 100000',
  }
  expect(limitsOf(files)).toEqual({ limitBytes: 3000, usedBytes: 2900, cores: 0.5 })
})

test('version 2 in a container that sees its own group as the root', () => {
  const files = {
    'proc/self/cgroup': '0::/docker/0123/worker',
    'proc/self/mountinfo': v2.replace(' / /sys', ' /docker/0123 /sys'),
    'sys/fs/cgroup/worker/memory.max': '900',
    'sys/fs/cgroup/worker/memory.current': '1',
    'sys/fs/cgroup/memory.max': '500',
    'sys/fs/cgroup/memory.current': '2',
  }
  expect(limitsOf(files)).toEqual({ limitBytes: 500, usedBytes: 2, cores: null })
})

test('version 1, beside an empty version 2', () => {
  const memory = 'sys/fs/cgroup/memory/job'
  const files = {
    'proc/self/cgroup': '4:memory:/job\n1:cpu,cpuacct:/\n0::/',
    'proc/self/mountinfo': [v2, v1Memory, v1Cpu].join('\n'),
    [`${memory}/memory.limit_in_bytes`]: '8589934592',
    [`${memory}/memory.usage_in_bytes`]: '5000000000',
    [`${memory}/memory.stat`]:
      'cache 9\ntotal_inactive_file 3000000000\ntotal_active_file 1000000000',
    'sys/fs/cgroup/memory/memory.limit_in_bytes': '9223372036854771712',
    'sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us': '300000',
    'sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us': '100000',
  }
  expect(limitsOf(files)).toEqual({ limitBytes: 8589934592, usedBytes: 1000000000, cores: 3 })
})

test('version 1 without limits', () => {
  const files = {
    'proc/self/cgroup': '4:memory:/\n1:cpu,cpuacct:/',
    'proc/self/mountinfo': [v1Memory, v1Cpu].join('\n'),
    'sys/fs/cgroup/memory/memory.limit_in_bytes': '9223372036854771712',
    'sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us': '-1',
    'sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us': '100000',
  }
  expect(limitsOf(files)).toEqual(none)
})

test('version 2: memory.high is a limit too, where it is the lower one', () => {
  const files = {
    'proc/self/cgroup': '0::/a/b',
    'proc/self/mountinfo': v2,
    [`${group}/memory.max`]: '4000',
    [`${group}/memory.high`]: '3500',
    [`${group}/memory.current`]: '100',
  }
  expect(limitsOf(files)).toMatchObject({ limitBytes: 3500, usedBytes: 100 })
  expect(limitsOf({ [`${group}/memory.high`]: '5000' })).toMatchObject({ limitBytes: 4000 })
  expect(limitsOf({ [`${group}/memory.max`]: 'max' })).toMatchObject({ limitBytes: 5000 })
})
