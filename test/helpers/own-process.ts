/**
 * Tests in a process of their own. V8 runs no finalizer any more in a process whose dropped contexts, such as those of
 * test files that ended, took the registries along that a clean-up was due for: what waits for one begins afresh.
 */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

const root = join(__dirname, '../..')
const mark = 'OCTAVO_TEST_OWN_PROCESS'

/** Defines the tests of `file` in a new process, and one test here that they all pass. */
export function inOwnProcess(file: string, define: () => void): void {
  if (process.env[mark] === file) return define()
  test('in a process of its own', () => {
    const jest = join(root, 'node_modules/jest/bin/jest.js')
    const given = [jest, '--runInBand', '--runTestsByPath', file]
    const env = { ...process.env, [mark]: file }
    const { status, stderr } = spawnSync(process.execPath, given, {
      cwd: root,
      env,
      encoding: 'utf8',
    })
    if (status !== 0) throw new Error(stderr)
    expect(stderr).toMatch(/^Tests: +\d+ passed, \d+ total$/m)
  })
}
