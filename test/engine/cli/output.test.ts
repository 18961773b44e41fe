/** What happens when the command cannot write. */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { copyOfStories, makeEndless } from '../sdk/support.js'
import { command, Command } from './command.js'

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

/** One block of the KV cache holds 32 tokens: what a generation took tells how long it went on. */
interface Taken {
  events: { operation: string; region: string; tag: string | null }[]
}

describe('a reader that leaves in mid-text', () => {
  it('stops a generation that would go on to the end of a long context', async () => {
    const { folder, remove } = await copyOfStories()
    await makeEndless(folder)
    const snapshot = join(folder, 'memory.json')
    const run = new Command(
      ...['generate', '--device', 'cpu', '--threads', '2', '--model', folder, '-n', '65000'],
      ...['--memory-snapshot', snapshot, 'Tom'],
    )
    run.child.stdout.once('data', () => run.child.stdout.destroy())
    const { code, stderr } = await run.ending
    const { events } = JSON.parse(readFileSync(snapshot, 'utf8')) as Taken
    await remove()
    expect(code).toBe(0)
    expect(stderr).not.toContain('tokens in')
    const blocks = events.filter(
      ({ operation, region }) => operation === 'allocated' && region === 'kv',
    )
    expect(blocks.length).toBeLessThan(1000)
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
