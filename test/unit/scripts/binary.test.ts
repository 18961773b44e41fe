/** What the addon that `npm install` built asks of a system: a glibc of 2.34, no driver, no other library. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

const root = join(__dirname, '..', '..', '..')

it.each(['octavo.node', 'octavo-memtrace.so'])('%s loads on every supported system', (file) => {
  const path = join('build', 'Release', file)
  const script = join('scripts', 'check-binary.cjs')
  const { status, stderr } = spawnSync(process.execPath, [script, path], {
    cwd: root,
    encoding: 'utf8',
  })
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
})
