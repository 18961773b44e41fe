/**
 * Tests in a process of their own: in one that has run many test files V8 may call no finalizer any more, so that what
 * waits for one would wait for ever.
 */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

const root = join(__dirname, '../..')
const runner = join(root, 'node_modules/jest/bin/jest.js')
const mark = 'OCTAVO_TEST_OWN_PROCESS'

/** Defines the tests of `file` in a new process, and one test here that they all pass. */
export function inOwnProcess(file: string, define: () => void): void {
  if (process.env[mark] === file) return define()
  test('in a process of its own', () => {
    const flags = ['--runInBand', '--json', '--forceExit', '--runTestsByPath', file]
    const { status, stdout, stderr } = spawnSync(process.execPath, [runner, ...flags], {
      cwd: root,
      env: { ...process.env, [mark]: file, FORCE_COLOR: '0' },
      encoding: 'utf8',
      timeout: 900_000,
      killSignal: 'SIGKILL',
    })
    if (status !== 0) throw new Error(`it ended with ${status}: ${stderr}`)
    const { numPassedTests, numTotalTests } = JSON.parse(stdout) as Record<string, number>
    expect(numPassedTests).toBeGreaterThan(0)
    expect(numPassedTests).toBe(numTotalTests)
  })
}
