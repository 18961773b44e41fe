/** What goes wrong while loading or stepping: a typed error, and nothing left. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { NativeEngine, NativeWeightManifest } from '../../lib/native.js'
import { story } from '../helpers/goldens.js'
import { defaultOptions, native, TestEngine, type Testing } from '../helpers/native-engine.js'
import { expectNothingLive } from '../helpers/nothing-live.js'
import { refusal } from '../helpers/refusal.js'
import { storiesManifest, storiesSpec } from '../helpers/stories-model.js'

afterEach(expectNothingLive)

interface Failure {
  code: string
  message: string
}

async function loadFailure(testing: Testing): Promise<Failure | undefined> {
  try {
    const engine = await TestEngine.load({ testing })
    await engine.close()
    return undefined
  } catch (error) {
    return error as Failure
  }
}

test('every allocation of a load may fail: a typed refusal, and all is given back', async () => {
  // A load that leaves a byte behind fails with OCTAVO_INTERNAL instead (Engine::load checks the ledger).
  let allocation = 1
  for (; ; allocation++) {
    const failure = await loadFailure({ failAllocation: allocation })
    if (!failure) break
    expect(failure).toMatchObject({
      code: 'OCTAVO_OUT_OF_MEMORY',
      message: expect.stringMatching(/region \w+: asked/) as string,
    })
  }
  const engine = await TestEngine.load()
  const made = engine.native.report().regions.reduce((sum, { allocations }) => sum + allocations, 0)
  expect(allocation).toBe(made + 2) // the addresses of the KV pages are asked for too
  expect(made).toBeGreaterThan(5)
  await engine.close()
})

test.each([1, 2, 5])(
  'when step %i fails, all requests fail with it, and so do later ones',
  async (failStep) => {
    const engine = await TestEngine.load({ maxSequences: 2, testing: { failStep } })
    // Without credits there is no step, and no failure before all four are there.
    const runs = Array.from({ length: 4 }, () =>
      engine.start(engine.native.createSession(), { maxNewTokens: 30, credits: 0 }),
    )
    for (const { id } of runs) engine.native.grant(id, 30)
    for (const running of runs) {
      const { reason, code, message, outputTokens } = await running.finish
      expect({ reason, code }).toEqual({ reason: 'failed', code: 'OCTAVO_DEVICE_FAILED' })
      expect(message).toContain(`step ${failStep}`)
      expect(running.tokens).toEqual(story.slice(1, outputTokens + 1))
      expect(outputTokens).toBeLessThan(failStep)
    }
    const session = engine.native.createSession()
    expect(refusal(() => engine.start(session))).toMatchObject({
      code: 'OCTAVO_DEVICE_FAILED',
      message: expect.stringContaining(`step ${failStep}`) as string,
    })
    await engine.native.disposeSession(session)
    expect(engine.native.report()).toMatchObject({ running: 0, waiting: 0, blocksInFlight: 0 })
    engine.native.check()
    await engine.close()
  },
)

test('a session disposed in the step that fails has its promise settled', async () => {
  const engine = await TestEngine.load({ testing: { failStep: 2, stepMicroseconds: 500_000 } })
  const session = engine.native.createSession()
  const running = engine.start(session, { maxNewTokens: 30 })
  while (engine.native.report().steps < 2); // half a second is left of the second one
  await engine.native.disposeSession(session)
  expect(running.finishes).toMatchObject([{ reason: 'cancelled' }])
  await engine.close()
})

/** The stories model with every weight of one parameter overwritten. */
function spoiltStories(name: string, value: number): NativeWeightManifest {
  const manifest = storiesManifest()
  const { offset, bytes } = manifest.entries.find((entry) => entry.name === name)!.parts[0]!
  const file = readFileSync(manifest.files[0]!)
  for (let at = offset; at < offset + bytes; at += 4) file.writeFloatLE(value, at)
  const path = join(mkdtempSync(join(tmpdir(), 'octavo-spoilt-')), 'model.safetensors')
  writeFileSync(path, file)
  return { ...manifest, files: [path] }
}

test.each(['finalNorm', 'layers.2.mlp.down'])(
  'NaN in %s fails the request by name',
  async (name) => {
    const manifest = spoiltStories(name, NaN)
    const engine = await TestEngine.load({}, 1, manifest)
    const session = engine.native.createSession()
    for (const temperature of [0, 1]) {
      const { tokens, finishes } = await engine.run(session, { temperature, topLogprobs: 2 })
      expect(tokens).toEqual([])
      expect(finishes).toMatchObject([
        {
          reason: 'failed',
          code: 'OCTAVO_CHECKPOINT_INVALID',
          message: expect.stringMatching(/no logit after token 1 is a finite number/) as string,
          outputTokens: 0,
        },
      ])
    }
    engine.native.check()
    expect(engine.native.report()).toMatchObject({ running: 0, waiting: 0 })
    await engine.close()
    rmSync(dirname(manifest.files[0]!), { recursive: true })
  },
)

function loading(
  onProgress: (done: number, total: number) => void = () => {},
): ReturnType<typeof native.loadEngine> {
  return native.loadEngine({
    device: 'cpu',
    threads: 1,
    spec: storiesSpec,
    manifest: storiesManifest(),
    options: defaultOptions,
    onProgress,
    onEvents: () => {},
  })
}

test('a cancelled load rejects, at any time before it is loaded', async () => {
  for (let turns = 0; turns < 6; turns++) {
    const { promise, cancel } = loading()
    const settled = promise.then(
      (engine: NativeEngine) => {
        engine.dispose()
        return 'loaded'
      },
      ({ code }: Failure) => code,
    )
    for (let turn = 0; turn < turns; turn++) await new Promise(setImmediate)
    cancel()
    cancel()
    expect(['OCTAVO_CANCELLED', 'loaded']).toContain(await settled)
    if (turns === 0) expect(await settled).toBe('OCTAVO_CANCELLED')
    cancel()
  }
})

test('progress ends at the total, before the promise resolves', async () => {
  const seen: [number, number][] = []
  const { promise } = loading((done, total) => seen.push([done, total]))
  const engine = await promise
  const [done, total] = seen.at(-1)!
  expect(done).toBe(total)
  expect(total).toBeGreaterThan(1_000_000)
  engine.dispose()
})

test('several loads at once', async () => {
  const engines = await Promise.all(Array.from({ length: 5 }, () => TestEngine.load()))
  expect(native.liveObjects().engines).toBe(5)
  const stories = await Promise.all(engines.map((engine) => engine.fresh({ maxNewTokens: 50 })))
  for (const { tokens } of stories) expect(tokens).toEqual(story.slice(1, 51))
  for (const engine of engines) engine.native.dispose()
})
