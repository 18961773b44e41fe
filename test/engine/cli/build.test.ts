/** `octavo build` that is stopped: with a cmake made for the test, on a copy of the command. */
import { spawn } from 'node:child_process'
import { chmodSync, cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { command } from './command.js'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'octavo-build-'))
  cpSync(join(dirname(command), '..'), join(folder, 'dist'), { recursive: true })
  const cmake = join(folder, 'cmake')
  const script = 'test "$1" = --version && exec echo cmake version 3.25.1'
  writeFileSync(cmake, `#!/bin/sh\n${script}\nsleep 1000 &\necho started\nwait\n`)
  chmodSync(cmake, 0o755)
})
afterEach(() => rmSync(folder, { recursive: true }))

it.each([
  ['SIGTERM', 143],
  ['SIGINT', 130],
] as const)('at %s to its process alone stops all it started: code %d', async (signal, code) => {
  const env = { ...process.env, PATH: folder + delimiter + process.env['PATH'] }
  const path = join(folder, 'dist', 'cli', 'index.js')
  const child = spawn(process.execPath, [path, 'build', '--verbose'], { env })
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
    if (text.includes('started')) child.kill(signal)
  })
  // It waits for whoever holds cmake's stdout, the process that cmake left in the background too.
  const status = await new Promise((resolve) => child.on('close', resolve))
  expect({ status, stderr }).toEqual({
    status: code,
    stderr: `started\noctavo: stopped by ${signal}\n`,
  })
})
