/** How a process ends that did not dispose. The children run the compiled package, as a user's would. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { golden, root } from './support.js'

interface Ending {
  code: number | null
  signal: NodeJS.Signals | null
  stdout: string
  stderr: string
}

const prelude = `
const { Engine } = require(${JSON.stringify(join(root, 'dist', 'index.js'))})
const load = () => Engine.load(undefined, { device: 'cpu', threads: 2, memory: { kv: 2 ** 22 }, maxSequences: 4 })
const long = { maxNewTokens: 500, ignoreEos: true }
`

/** Runs a script to its end; fails the test when it has none. */
function runScript(body: string): Promise<Ending> {
  const child = spawn(process.execPath, ['-e', `${prelude};(async () => {${body}})()`])
  const ending: Ending = { code: null, signal: null, stdout: '', stderr: '' }
  child.stdout.on('data', (data: Buffer) => (ending.stdout += data.toString()))
  child.stderr.on('data', (data: Buffer) => (ending.stderr += data.toString()))
  const timer = setTimeout(() => child.kill('SIGKILL'), 600_000)
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => {
      clearTimeout(timer)
      resolve({ ...ending, code, signal })
    })
  })
}

const fine = { code: 0, signal: null, stderr: '' }

it('a process with an idle engine ends by itself', async () => {
  const ending = await runScript(`
    const engine = await load()
    const session = engine.createSession()
    const { text } = await session.generate('Once upon a time', { maxNewTokens: 5 }).result
    console.log(text)`)
  expect(ending).toMatchObject(fine)
  expect(golden[0].text).toContain(ending.stdout.trim())
})

it('a process that is awaiting a generation stays until it has ended', async () => {
  const ending = await runScript(`
    const engine = await load()
    const session = engine.createSession()
    globalThis.kept = [engine, session] // else a late collection would name them on stderr
    session.generate('Once upon a time', long).result.then(({ tokens }) => console.log(tokens.length))`)
  expect(ending).toMatchObject({ ...fine, stdout: '500\n' })
})

it('a process that is loading stays until it has loaded', async () => {
  const ending = await runScript(
    `load().then((engine) => console.log((globalThis.kept = engine).device))`,
  )
  expect(ending).toMatchObject({ ...fine, stdout: 'cpu\n' })
})

it('process.exit in mid-stream ends it at once, with its code', async () => {
  const ending = await runScript(`
    const engine = await load()
    const runs = [1, 2, 3].map(() => engine.createSession().generate('Tom', long))
    await Promise.all(runs.map((run) => run.next()))
    process.exit(7)`)
  expect(ending).toMatchObject({ ...fine, code: 7 })
})

it('process.exit while loading ends it at once', async () => {
  const ending = await runScript(`load(); setTimeout(() => process.exit(3), 20)`)
  expect(ending).toMatchObject({ ...fine, code: 3 })
})

it('an uncaught exception in mid-stream ends it with the exception', async () => {
  const ending = await runScript(`
    const engine = await load()
    for await (const piece of engine.createSession().generate('Tom', long)) {
      setImmediate(() => { throw new Error('a bug of the caller') })
    }`)
  expect(ending).toMatchObject({ code: 1, signal: null })
  expect(ending.stderr).toContain('a bug of the caller')
})

it('a disposed engine holds nothing open', async () => {
  const ending = await runScript(`
    const engine = await load()
    const run = engine.createSession().generate('Tom', long)
    await run.next()
    run.next().catch(() => {})
    engine.dispose()
    console.log('disposed')`)
  expect(ending).toMatchObject({ ...fine, stdout: 'disposed\n' })
})
