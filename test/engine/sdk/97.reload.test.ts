/** A hundred loads in one process leave what the first left: no byte on the device, and no growth of the process. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { loadNative } from '../../../lib/native.js'
import { root } from './support.js'
import { nothingLive } from '../../helpers/nothing-live.js'

interface Result {
  loadedBytes: number[]
  allocatedBytes: number[]
  leftBytes: number[]
  rssSlope: number
  live: object
}

const sanitized = loadNative().buildInfo.sanitizer
// AddressSanitizer keeps what was freed in quarantine: only the device's figures mean something then.
const times = sanitized ? 30 : 150
// Each load takes 10 MiB, a tenth of it weights; what malloc and V8 keep measured 6 to 20 KiB a load.
const tolerance = 128 * 1024

it('load, generate, dispose over and over', () => {
  const script = join(root, 'scripts', 'bench', 'memory', 'reload.cjs')
  const flags = ['--expose-gc', '--max-semi-space-size=1']
  const text = execFileSync(process.execPath, [...flags, script, '--json', '--times', `${times}`], {
    encoding: 'utf8',
    env: { ...process.env, MALLOC_ARENA_MAX: '1' },
  })
  const { loadedBytes, allocatedBytes, leftBytes, rssSlope, live } = JSON.parse(text) as Result
  expect(live).toEqual(nothingLive)
  expect(leftBytes).toEqual([0])
  expect(allocatedBytes).toHaveLength(1)
  expect(loadedBytes).toEqual(allocatedBytes)
  if (!sanitized) expect(rssSlope).toBeLessThan(tolerance)
})
