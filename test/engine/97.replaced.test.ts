/** The addon's file and its mapping: replaced under a process that runs, kept when its last worker ends. */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import {
  copyFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { addonPath, plainLoad, plainRequest } from '../helpers/raw-load.js'

const { stripAddon } = require('../../scripts/strip-addon.cjs') as {
  stripAddon: (file: string) => void
}

let folder: string
let addon: string
let child: ChildProcess | undefined

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'octavo-replaced-'))
  addon = join(folder, 'octavo.node')
  copyFileSync(addonPath, addon)
})

afterEach(() => {
  child?.kill('SIGKILL')
  child = undefined
  rmSync(folder, { recursive: true })
})

function start(script: string): ChildProcess {
  const file = join(folder, 'child.cjs')
  writeFileSync(file, script)
  return (child = fork(file, [addon], { serialization: 'advanced' }))
}

/** Generates without end; from the message 'last' on, one more request, whose tokens it sends. */
const streaming = `
const native = require(process.argv[2])
process.once('message', async ({ load, request }) => {
  let last = false, tokens = [], engine
  const submit = () => engine.submit(engine.createSession(), request)
  const onEvents = (events) => {
    tokens.push(...events.tokens)
    if (events.tokens.length > 0 && !last) process.send('streaming')
    if (events.finished.length === 0) return
    if (last === 'runs') {
      last = 'over' // a message that is still being written is lost when the channel closes
      return process.send(tokens, () => {
        engine.dispose()
        process.disconnect()
      })
    }
    tokens = []
    if (last) last = 'runs'
    submit()
  }
  engine = await native.loadEngine({ ...load, onProgress() {}, onEvents }).promise
  process.once('message', () => (last = true))
  submit()
})`

test('an engine runs on while the file it was loaded from is stripped', async () => {
  const running = start(streaming)
  running.send({ load: plainLoad(), request: plainRequest })
  await once(running, 'message')
  let tokens: unknown
  running.on('message', (message) => {
    if (Array.isArray(message)) tokens = message
  })
  // The channel closes behind its last message; a process can be seen to exit before that.
  const ended = Promise.all([once(running, 'exit'), once(running, 'disconnect')])
  for (let round = 0; round < 3; round++) stripAddon(addon)
  running.send('last', () => {}) // to one that crashed: `ended` says so
  expect((await ended)[0]).toEqual([0, null])
  expect(tokens).toHaveLength(plainRequest.maxNewTokens)
  expect(readFileSync(addon).length).toBeLessThan(readFileSync(addonPath).length)
  expect(readdirSync(folder).sort()).toEqual(['child.cjs', 'octavo.node'])
})

/** Only a worker loads the addon; says what of the file is mapped when the worker is gone. */
const worker = `
const { Worker } = require('node:worker_threads')
const body = 'require(process.argv[2]).listDevices()'
new Worker(body, { eval: true, argv: [process.argv[2]] }).once('exit', (code) => {
  const maps = require('node:fs').readFileSync('/proc/self/maps', 'utf8')
  process.send({ code, mapped: maps.includes(process.argv[2]) })
})`

const onLinux = process.platform === 'linux' ? test : test.skip

onLinux('the addon stays mapped when the only worker that loaded it has ended', async () => {
  const running = start(worker)
  expect((await once(running, 'message'))[0]).toEqual({ code: 0, mapped: true })
})
