/** The last line of .ci/run and its status. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const script = join(__dirname, '..', '..', '..', 'scripts', 'totals.cjs')
let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'octavo-totals-'))
})

afterEach(() => rmSync(folder, { recursive: true }))

function result(name: string, passed: number, failed: number, skipped: number, broken = 0): void {
  const counts = {
    numPassedTests: passed,
    numFailedTests: failed,
    numPendingTests: skipped,
    numTodoTests: 0,
    numRuntimeErrorTestSuites: broken,
  }
  writeFileSync(join(folder, `${name}.json`), JSON.stringify(counts))
}

function totals(failedSteps: number): { status: number | null; line: string } {
  const args = [script, String(failedSteps), folder]
  const { status, stdout } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  return { status, line: stdout.trimEnd() }
}

it('adds up the runs', () => {
  result('a', 10, 0, 1)
  result('b', 5, 0, 2)
  expect(totals(0)).toEqual({ status: 0, line: '15 passed, 0 failed, 3 skipped' })
})

it('fails when a test failed or a suite could not run', () => {
  result('a', 10, 2, 0)
  expect(totals(1)).toEqual({ status: 1, line: '10 passed, 2 failed, 0 skipped' })
  result('a', 10, 0, 0, 1)
  expect(totals(1)).toEqual({ status: 1, line: '10 passed, 1 failed, 0 skipped' })
})

it('fails when a step failed that has no tests', () => {
  result('a', 10, 0, 0)
  expect(totals(2)).toEqual({ status: 1, line: '10 passed, 2 failed, 0 skipped' })
})

it('fails when nothing ran', () => {
  expect(totals(0)).toEqual({ status: 1, line: '0 passed, 0 failed, 0 skipped' })
  result('a', 0, 0, 9)
  expect(totals(0)).toEqual({ status: 1, line: '0 passed, 0 failed, 9 skipped' })
})
