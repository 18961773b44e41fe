/** Engines in worker threads, ended the hard way. The workers run the compiled package, as a user's would. */
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { expectNothingLive, golden, loadStories, root } from './support.js'

const script = `
const { parentPort, workerData } = require('node:worker_threads')
const { Engine } = require(workerData.octavo)
async function main() {
  const options = { device: 'cpu', threads: 1, memory: { kv: 2 ** 20 }, maxSequences: 4, maxBatchTokens: 64 }
  const engine = await Engine.load(undefined, options)
  const session = engine.createSession()
  const run = session.generate('Once upon a time', { maxNewTokens: workerData.maxNewTokens, ignoreEos: true })
  const tokens = []
  for await (const piece of run) {
    tokens.push(...piece.tokens)
    if (tokens.length === 3) parentPort.postMessage('streaming')
  }
  await engine[Symbol.asyncDispose]()
  parentPort.postMessage(tokens)
}
main()
`

/** A worker that streams. Its messages are kept from the start: none is lost before it is asked for. */
class Streamer {
  readonly worker: Worker
  readonly #messages: Promise<unknown>[] = []

  constructor(maxNewTokens: number) {
    const workerData = { octavo: join(root, 'dist', 'index.js'), maxNewTokens }
    this.worker = new Worker(script, { eval: true, workerData })
    const failed = new Promise<never>((_, reject) => this.worker.once('error', reject))
    const received: ((message: unknown) => void)[] = []
    for (let i = 0; i < 2; i++) {
      const message = new Promise<unknown>((resolve) => received.push(resolve))
      this.#messages.push(Promise.race([message, failed]))
    }
    for (const message of this.#messages) message.catch(() => {})
    this.worker.on('message', (message) => received.shift()?.(message))
  }

  /** Resolves when three tokens have come. */
  async streaming(): Promise<void> {
    expect(await this.#messages[0]).toBe('streaming')
  }

  /** Resolves with all tokens when the engine is disposed. */
  async tokens(): Promise<unknown> {
    return this.#messages[1]
  }

  terminate(): Promise<number> {
    return this.worker.terminate()
  }
}

afterEach(expectNothingLive)

it('a worker runs an engine of its own and ends by itself', async () => {
  const streamer = new Streamer(20)
  const exited = new Promise<number>((resolve) => streamer.worker.once('exit', resolve))
  expect(await streamer.tokens()).toEqual(golden[0].ids.slice(5, 25))
  expect(await exited).toBe(0)
})

it('four workers and the main thread generate at once', async () => {
  await using engine = await loadStories()
  using session = engine.createSession()
  const streamers = [...Array(4)].map(() => new Streamer(100))
  const own = session.generate('Once upon a time', { maxNewTokens: 100 }).result
  for (const streamer of streamers) {
    expect(await streamer.tokens()).toEqual(golden[0].ids.slice(5, 105))
  }
  expect((await own).tokens).toEqual(golden[0].ids.slice(5, 105))
  await Promise.all(streamers.map((streamer) => streamer.terminate()))
})

it('a hundred workers are terminated in mid-stream without harm', async () => {
  await using engine = await loadStories()
  using session = engine.createSession()
  const before = process.memoryUsage.rss()
  for (let round = 0; round < 25; round++) {
    const streamers = [...Array(4)].map(() => new Streamer(500))
    for (const streamer of streamers) await streamer.streaming()
    await Promise.all(streamers.map((streamer) => streamer.terminate()))
  }
  expect(process.memoryUsage.rss() - before).toBeLessThan(400 * 2 ** 20)
  const { tokens } = await session.generate('Once upon a time', { maxNewTokens: 20 }).result
  expect(tokens).toEqual(golden[0].ids.slice(5, 25))
  engine.check()
})

it('workers are terminated while they load', async () => {
  for (let round = 0; round < 10; round++) {
    const { worker } = new Streamer(5)
    await new Promise((resolve) => worker.once('online', resolve))
    await new Promise((resolve) => setTimeout(resolve, round * 10))
    await worker.terminate()
  }
})
