/** The ends of an environment: workers terminated at any moment, processes that exit, objects collected. */
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { serialize } from 'node:v8'
import { Worker } from 'node:worker_threads'
import { collectGarbage, collectUntil } from '../helpers/collect-garbage.js'
import { native, TestEngine } from '../helpers/native-engine.js'
import { addonPath, plainLoad, plainRequest } from '../helpers/raw-load.js'

/** What workers and children run: `go(load, request, say)` after the addon is there. */
const prelude = `
const go = async (data, say, body) => {
  const addon = require(data.addon)
  const events = []
  const loading = addon.loadEngine({ ...data.load, onProgress() {}, onEvents(e) { for (const t of e.tokens) say(t); events.push(...e.finished) } })
  await body({ addon, loading, request: data.request, events })
}
`

const data = {
  addon: addonPath,
  load: plainLoad({ stepMicroseconds: 100 }),
  request: { ...plainRequest, maxNewTokens: 400 },
}

function worker(body: string): Worker {
  return new Worker(
    `${prelude}
    const { parentPort, workerData } = require('node:worker_threads')
    go(workerData, (token) => parentPort.postMessage(token), async ({ loading, request, events, addon }) => { ${body} })`,
    { eval: true, workerData: data },
  )
}

test('a hundred workers terminated in mid-stream', async () => {
  for (let round = 0; round < 100; round++) {
    const running = worker(`
      const engine = await loading.promise
      for (let i = 0; i < 3; i++) engine.submit(engine.createSession(), request)`)
    await once(running, 'message')
    if (round % 3 === 1) await pause(round % 7)
    await running.terminate()
  }
})

test('fifty workers terminated while they load', async () => {
  for (let round = 0; round < 50; round++) {
    const running = worker(`parentPort.postMessage('loading'); await loading.promise`)
    await once(running, 'message')
    if (round % 2 === 1) await pause(round % 5)
    await running.terminate()
  }
})

test('thirty workers terminated while they dispose', async () => {
  for (let round = 0; round < 30; round++) {
    const running = worker(`
      const engine = await loading.promise
      const session = engine.createSession()
      engine.submit(session, request)
      parentPort.postMessage('running')
      engine.disposeSession(session)
      engine.disposeAsync()`)
    await once(running, 'message')
    if (round % 2 === 1) await pause(round % 4)
    await running.terminate()
  }
})

test('twenty workers terminated while their thread is blocked and a call to it is pending', async () => {
  for (let round = 0; round < 20; round++) {
    const running = worker(`
      const engine = await loading.promise
      engine.submit(engine.createSession(), request)
      const produced = () => engine.report().steps > 3
      while (!produced()); // events wait for this thread from the first step on
      parentPort.postMessage('blocked')
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)`)
    await once(running, 'message')
    await running.terminate()
  }
})

test('a worker that ends by itself with an engine running', async () => {
  const running = worker(`
    const engine = await loading.promise
    engine.submit(engine.createSession(), request)
    process.exit(0)`)
  const [code] = (await once(running, 'exit')) as [number]
  expect(code).toBe(0)
})

/** Runs a body in a process of its own; returns what it printed. */
function child(body: string): { status: number | null; output: string } {
  const script = `${prelude}
    const data = require('node:v8').deserialize(Buffer.from(process.argv[1], 'base64'))
    const tokens = []
    go(data, (token) => tokens.push(token), async ({ loading, request, events, addon }) => { ${body} })`
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['-e', script, serialize(data).toString('base64')],
    {
      encoding: 'utf8',
      timeout: 600_000,
    },
  )
  return { status, output: stdout + stderr }
}

test('a process with an idle, undisposed engine ends', () => {
  const { status, output } = child(`
    const engine = await loading.promise
    engine.createSession()
    console.log('loaded')`)
  expect({ status, output }).toEqual({ status: 0, output: 'loaded\n' })
})

test('a process stays until its requests are done', () => {
  const { status, output } = child(`
    const engine = await loading.promise
    engine.submit(engine.createSession(), request)
    process.on('exit', () => console.log(tokens.length, events.map(({ reason }) => reason).join()))`)
  expect({ status, output }).toEqual({ status: 0, output: '400 length\n' })
})

test('a process stays until its disposals are done', () => {
  const { status, output } = child(`
    const engine = await loading.promise
    const session = engine.createSession()
    engine.submit(session, request)
    engine.disposeSession(session).then(() => console.log('session'))
    engine.disposeAsync().then(() => console.log('engine', addon.liveObjects().engines))`)
  expect(status).toBe(0)
  expect(output.split('\n').sort()).toEqual(['', 'engine 0', 'session'])
})

test('a callback that throws is an uncaught exception of the process; the engine goes on', () => {
  const { status, output } = child(`
    process.on('uncaughtException', ({ message }) => console.log(message))
    let calls = 0
    const { promise } = addon.loadEngine({ ...data.load, onProgress() {}, onEvents({ finished }) {
      if (calls++ === 0) throw new Error('from onEvents')
      for (const { reason } of finished) console.log(reason)
    } })
    const other = await promise
    other.submit(other.createSession(), request)`)
  expect({ status, output }).toEqual({ status: 0, output: 'from onEvents\nlength\n' })
})

test('process.exit in mid-stream and while loading', () => {
  expect(
    child(`
    const engine = await loading.promise
    engine.submit(engine.createSession(), request)
    setTimeout(() => process.exit(7), 5)`),
  ).toEqual({ status: 7, output: '' })
  expect(child('process.exit(8)')).toEqual({ status: 8, output: '' })
})

describe('an engine that is collected', () => {
  test('is disposed, though its callback refers to it', async () => {
    await (async () => {
      const engine = await TestEngine.load() // its onEvents closes over the TestEngine, which holds the native one
      await engine.fresh({ maxNewTokens: 3 })
    })()
    expect(native.liveObjects().engines).toBe(1)
    await collectUntil(() => native.liveObjects().engines === 0)
    expect(native.liveObjects().engines).toBe(0)
  })

  test('but not while a request runs', async () => {
    let tokens = 0
    await (async () => {
      const engine = await TestEngine.load({ testing: { stepMicroseconds: 5000 } })
      const running = engine.start(engine.native.createSession(), { maxNewTokens: 50 })
      void running.finish.then(() => (tokens = running.tokens.length))
    })()
    while (tokens === 0) {
      expect(native.liveObjects().engines).toBe(1)
      collectGarbage()
      await pause(5)
    }
    await collectUntil(() => native.liveObjects().engines === 0)
    expect(tokens).toBe(50)
    expect(native.liveObjects().engines).toBe(0)
  })
})
