/** What happens when the command cannot write. */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { command } from './command.js'

/** Runs a line of shell in which `octavo` is the command; its own status, whatever stands behind a pipe. */
function shell(line: string): { status: number; stderr: string } {
  const octavo = `"${process.execPath}" "${command}"`
  const script = `{ ${line.replace('octavo', octavo).replace(/( \||$)/, '; echo "status $?" >&2; }$1')}`
  const { stderr } = spawnSync('sh', ['-c', script], { encoding: 'utf8' })
  const status = /status (\d+)\n$/.exec(stderr)?.[1]
  return { status: Number(status), stderr: stderr.replace(/status \d+\n$/, '') }
}

const generate = 'octavo generate --device cpu --threads 2 Tom -n 20'

describe('a reader that went away', () => {
  it.each([
    'octavo doctor | true',
    'octavo --help | true',
    'octavo --version | true',
    'octavo generate --help | true',
    `${generate} --json | true`,
  ])('ends %j quietly', (line) => {
    const { status, stderr } = shell(line)
    expect(status).toBe(0)
    expect(stderr.replace(/^octavo: stories260k .*\n/, '')).toBe('')
  })
})

const full = existsSync('/dev/full') ? it : it.skip
describe('a full disk', () => {
  full.each([
    `${generate} >/dev/full`,
    `${generate} --json >/dev/full`,
    'octavo doctor >/dev/full',
    'octavo doctor --json >/dev/full',
    'octavo --help >/dev/full',
    'octavo chat --help >/dev/full',
  ])('ends %j with one sentence: code 1', (line) => {
    const { status, stderr } = shell(line)
    expect(status).toBe(1)
    expect(stderr.replace(/^octavo: stories260k .*\n/, '')).toMatch(
      /^octavo: stdout cannot be written: ENOSPC.* \(OCTAVO_IO_FAILED\)\n$/,
    )
  })

  full('under stderr changes neither the output nor the status', () => {
    const line = `"${process.execPath}" "${command}" generate --device cpu Tom -n 5 2>/dev/full`
    const { status, stdout } = spawnSync('sh', ['-c', line], { encoding: 'utf8' })
    expect(status).toBe(0)
    expect(stdout).toMatch(/\S.*\n$/)
  })
})
