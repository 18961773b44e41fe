/** Threads that the system refuses: a refusal with the numbers, and no thread is left behind. */
import { execFileSync } from 'node:child_process'
import { addonPath } from '../../helpers/raw-load.js'

/** Room for a few stacks of 8 MiB, and not for 64. */
const child = `
const { execFileSync } = require('node:child_process')
const { readdirSync, readFileSync } = require('node:fs')
const { ops, testing } = require(process.argv[1])
const threads = () => readdirSync('/proc/self/task').length
const refusal = (call) => {
  try {
    call()
  } catch ({ code, message }) {
    return { code, message }
  }
}
const loop = (threads) => testing.parallelFor({ threads, count: 100, grain: 1, failAt: -1, callers: 1 })
loop(2)
const before = threads()
const used = 1024 * Number(/VmSize:\\s*(\\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1])
execFileSync('prlimit', ['--as=' + (used + 256 * 2 ** 20) + ':', '--pid', String(process.pid)])
const pool = refusal(() => loop(64))
const device = refusal(() => ops.open({ id: 'cpu', threads: 64 }))
const visits = loop(2).visits.length
console.log(JSON.stringify({ pool, device, visits, left: threads() - before }))
`

const linux = process.platform === 'linux' ? it : it.skip

linux('says how many were asked for and how many are given', () => {
  const output = execFileSync(process.execPath, ['-e', child, addonPath])
  const { pool, device, visits, left } = JSON.parse(String(output)) as Record<string, unknown>
  const sentence =
    /^threads is 64, and the system gives \d+ \(Resource temporarily unavailable\); pass fewer/
  const refused = {
    code: 'OCTAVO_OUT_OF_MEMORY',
    message: expect.stringMatching(sentence) as string,
  }
  expect(pool).toEqual(refused)
  expect(device).toEqual(refused)
  expect(visits).toBe(100)
  expect(left).toBe(0)
})
