/** The embedded model on the card: its published stories, and what it holds while it tells them. */
import { Engine } from '../../lib/index.js'
import type { MemoryReport } from '../../lib/index.js'
import { loadNative } from '../../lib/native.js'
import { storiesGolden } from '../helpers/stories-model.js'

const promptLengths = new Map([
  ['', 1],
  ['The little dog', 5],
])
const stories = storiesGolden.map(({ prompt, ids }) => {
  const length = promptLengths.get(prompt) ?? 1
  return { prompt: ids.slice(0, length), output: ids.slice(length) }
})

const options = { device: 'cuda:0', memory: { kv: 16 * 2 ** 20 } } as const

const sessionBytes = ({ ledger }: MemoryReport): number =>
  ledger.filter(({ owner }) => owner.kind === 'session').reduce((sum, { bytes }) => sum + bytes, 0)

async function tell(engine: Engine, prompt: number[], maxNewTokens: number): Promise<number[]> {
  using session = engine.createSession()
  const generation = session.generate(prompt, { maxNewTokens, temperature: 0, ignoreEos: true })
  return (await generation.result).tokens
}

/** As the driver tells. */
const freeBytes = (): number => loadNative().memoryUse('cuda:0').freeBytes

afterEach(() => {
  expect(loadNative().liveObjects()).toEqual({ engines: 0, devices: 0, buffers: 0 })
})

test('the published stories, token for token, one after the other and all at once', async () => {
  await using engine = await Engine.load(undefined, options)
  expect(engine.device).toBe('cuda:0')
  for (const { prompt, output } of stories) {
    expect(await tell(engine, prompt, output.length)).toEqual(output)
  }
  const together = [...stories, ...stories, ...stories, ...stories]
  const told = await Promise.all(together.map((s) => tell(engine, s.prompt, s.output.length)))
  expect(told).toEqual(together.map(({ output }) => output))
})

test('memory: the ledger in mid-stream, after dispose, and the driver beside it', async () => {
  await using engine = await Engine.load(undefined, options)
  const loaded = engine.memory()
  expect(sessionBytes(loaded)).toBe(0)
  const session = engine.createSession()
  const generation = session.generate(stories[0]!.prompt, {
    maxNewTokens: 200,
    temperature: 0,
    ignoreEos: true,
  })
  let pieces = 0
  for await (const _ of generation) {
    if (++pieces < 40) continue
    expect(sessionBytes(engine.memory())).toBeGreaterThan(0)
    break
  }
  session.dispose()
  expect(sessionBytes(engine.memory())).toBe(0)
  expect(engine.memory().allocatedBytes).toBe(loaded.allocatedBytes)
})

test('the driver has everything back after dispose', async () => {
  const load = (): Promise<Engine> => Engine.load(undefined, options)
  ;(await load()).dispose() // what the driver keeps of a first use (code, context) is not ours to give back
  const before = freeBytes()
  for (let i = 0; i < 3; i++) {
    const engine = await load()
    expect(before - freeBytes()).toBeGreaterThanOrEqual(engine.memory().regions.kv.allocatedBytes)
    engine.dispose()
    expect(freeBytes()).toBeGreaterThanOrEqual(before - 2 * 2 ** 20)
  }
})
