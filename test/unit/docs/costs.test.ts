/** What README says that a model costs in bytes is what the engine holds today. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(__dirname, '..', '..', '..')

test("README's table of bytes is what scripts/costs.cjs measures", () => {
  const run = spawnSync(process.execPath, [join(root, 'scripts', 'costs.cjs')], {
    encoding: 'utf8',
  })
  expect(run.stderr).toBe('')
  const rows = run.stdout.split('\n').filter((line) => /^\| .*\d \|$/.test(line))
  expect(rows.length).toBe(7)
  // Without SmolLM2's folder there is one column of two.
  const readme = readFileSync(join(root, 'README.md'), 'utf8').split('\n')
  const stale = rows.filter((row) => !readme.some((line) => line.startsWith(row)))
  expect(stale).toEqual([])
})
