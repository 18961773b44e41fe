/** The tiles of dense products: every one gives the same numbers, and those that were measured are used. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Engine, type EngineOptions } from '../../lib/index.js'
import { loadNative } from '../../lib/native.js'
import type { NativeTile, NativeTuned } from '../../lib/native-tuning.js'
import { linear } from '../../lib/ops/index.js'
import { nativeMatrix } from '../../lib/ops/shape.js'
import { tensorSumError } from '../ops-cases/compare.js'
import { Random } from '../ops-cases/random.js'
import * as rowReference from '../ops-cases/reference-rows.js'
import { Scope } from '../ops-cases/scope.js'
import { expectSameBits, useDevices } from './devices.js'

const devices = useDevices()
const { ops } = loadNative()

type Shape = readonly [rows: number, columns: number, depth: number]
const few: Shape = [24, 300, 136]
const shapes: readonly Shape[] = [
  few,
  [17, 70, 8],
  [64, 129, 264],
  [65, 96, 2056],
  [128, 257, 72],
  [200, 270, 136],
  [300, 264, 72],
]

const tilesOf = ([rows, columns, depth]: Shape): NativeTile[] =>
  ops.linearTiles(devices.cuda.handle, { rows, columns, depth })
const tunedOf = ([rows, columns, depth]: Shape, plan: NativeTile): NativeTuned => ({
  ...{ rows, columns, depth, plan, microseconds: 1, untunedMicroseconds: 1 },
})
const keep = (shape: Shape, plan: NativeTile): boolean =>
  ops.keepTuned(devices.cuda.handle, tunedOf(shape, plan))

/** A product on the card, to be computed as often as wanted. */
function product(scope: Scope, [rows, columns, depth]: Shape) {
  const random = new Random(rows * columns)
  const inputs = random.values(rows * depth, 'bf16')
  const weights = random.values(columns * depth, 'bf16')
  const x = scope.matrix('bf16', rows, depth, inputs, 8)
  const weight = scope.matrix('bf16', columns, depth, weights, 8)
  const run = (): Float32Array => {
    const out = scope.matrix('fp32', rows, columns, null, 8)
    linear(out.view, x.view, weight.view)
    return out.read()
  }
  const expected = rowReference.linear(inputs, weights, null, [rows, columns, depth])
  return { x, weight, run, expected }
}

function expectNear(actual: Float32Array, expected: ArrayLike<number>, depth: number): void {
  const allowed = tensorSumError(depth)
  const at = actual.findIndex(
    (value, i) => !(Math.abs(value - expected[i]!) <= allowed + 2 ** -19 * Math.abs(expected[i]!)),
  )
  if (at >= 0) throw new Error(`[${at}] is ${actual[at]}, expected ${expected[at]}`)
}

test.each(shapes)(
  '%i rows of %i outputs over %i: every tile is used when it is kept',
  (...shape) => {
    using scope = new Scope(devices.cuda)
    const { run, expected } = product(scope, shape)
    const tiles = tilesOf(shape)
    const whole = tiles.filter(({ sharing }) => sharing !== 'depth')
    expect(tiles.length).toBeGreaterThanOrEqual(2)
    expect(new Set(tiles.map((tile) => JSON.stringify(tile))).size).toBe(tiles.length)
    let bits: Float32Array | undefined
    for (const tile of tiles) {
      const divides = tile.sharing === 'depth'
      expect(keep(shape, tile)).toBe(!divides || shape[0] > 64)
      if (divides && shape[0] <= 64) continue
      expect(tilesOf(shape)[0]).toEqual(tile)
      const result = run()
      expectNear(result, expected, shape[2])
      // Where K is not divided every tile sums in the same order.
      if (!divides) expectSameBits(result, (bits ??= result))
    }
    expect(whole).not.toEqual([])
    keep(shape, tiles[0]!.sharing === 'depth' ? whole[0]! : tiles[0]!)
  },
)

test('what is kept holds for the rows of its bucket, unless another is predicted to gain by them', () => {
  const [rows, columns, depth] = few
  const before = tilesOf([33, columns, depth])
  const other = tilesOf(few).find(({ sharing }) => sharing === 'none')!
  expect(keep(few, other)).toBe(true)
  expect(tilesOf([rows, columns, depth])[0]).toEqual(other)
  for (let each = 17; each <= 32; each++) {
    const [used] = tilesOf([each, columns, depth])
    expect(tilesOf(few)).toContainEqual(used)
  }
  expect(tilesOf([33, columns, depth])).toEqual(before)
  expect(tilesOf([rows, columns, depth + 8])[0]).toBeDefined()
})

test.each<[string, Shape, Partial<NativeTile>]>([
  ['columns of no tile', few, { columns: 40 }],
  ['rows of no tile', few, { rows: 32 }],
  ['a tile for more rows', few, { rows: 128, columns: 192 }],
  ['numbers that no tile has', few, { rows: 2 ** 31 - 1, columns: 2 ** 31 - 1 }],
  ['numbers below zero', few, { rows: -64, columns: -64 }],
  ['K divided where it is short', [128, 257, 72], { sharing: 'depth' }],
  ['rows that no bucket has', [16, 300, 136], {}],
  ['more rows than any bucket has', [4096, 300, 136], {}],
  ['rows that do not begin on 16 bytes', [24, 300, 132], {}],
])('%s: not kept, and nothing changes', (_, shape, change) => {
  const before = tilesOf(shape)
  const tile = before[0] ?? { rows: 64, columns: 64, sharing: 'none' }
  expect(keep(shape, { ...tile, ...change })).toBe(false)
  expect(tilesOf(shape)).toEqual(before)
})

test.each([
  [24, 80, 1032],
  [72, 28, 2056],
])('%i rows of %i outputs a multiprocessor over %i are measured', (rows, each, depth) => {
  const shape: Shape = [rows, each * devices.cuda.info.multiprocessors, depth]
  using scope = new Scope(devices.cuda)
  const { x, weight, run, expected } = product(scope, shape)
  const out = scope.matrix('fp32', shape[0], shape[1], null, 8)
  const call = {
    out: nativeMatrix('out', out.view),
    x: nativeMatrix('x', x.view),
    weight: nativeMatrix('weight', weight.view),
  }
  const tiles = tilesOf(shape)
  expect(ops.tuneLinear(devices.cuda.handle, { ...call, seconds: 0 })).toBeNull()
  expect(tilesOf(shape)).toEqual(tiles)
  const tuned = ops.tuneLinear(devices.cuda.handle, { ...call, seconds: 600 })!
  expect(tuned).toMatchObject({ rows: shape[0], columns: shape[1], depth: shape[2] })
  expect(tiles).toContainEqual(tuned.plan)
  expect(tuned.tried).toBeGreaterThanOrEqual(2)
  expect(tuned.tried).toBeLessThanOrEqual(tiles.length)
  expect(tuned.microseconds).toBeGreaterThan(0)
  // Another than the predicted one is taken for a gain alone; to divide K is one of 8 %, or not worth it.
  const isPredicted = JSON.stringify(tuned.plan) === JSON.stringify(tiles[0])
  const handicap = ({ sharing }: { sharing: string }): number => (sharing === 'depth' ? 1.08 : 1)
  const weighed = handicap(tuned.plan) / handicap(tiles[0]!)
  const most = isPredicted ? 1 : 0.98
  expect((tuned.microseconds / tuned.untunedMicroseconds) * weighed).toBeLessThanOrEqual(
    most + 1e-6,
  )
  expect(tilesOf(shape)[0]).toEqual(tuned.plan)
  expectNear(out.read(), expected, shape[2]) // what was measured was the product
  expectNear(run(), expected, shape[2])
  expect(keep(shape, tuned.plan)).toBe(true)
})

test('fp32 has one kernel: nothing is measured', () => {
  using scope = new Scope(devices.cuda)
  const [x, weight, out] = [
    scope.matrix('fp32', 24, 16, new Float32Array(24 * 16), 0),
    scope.matrix('fp32', 40, 16, new Float32Array(40 * 16), 0),
    scope.matrix('fp32', 24, 40, null, 0),
  ]
  const call = {
    out: nativeMatrix('out', out.view),
    x: nativeMatrix('x', x.view),
    weight: nativeMatrix('weight', weight.view),
    seconds: 5,
  }
  expect(ops.tuneLinear(devices.cuda.handle, call)).toBeNull()
})

describe('an engine', () => {
  const config = {
    architectures: ['LlamaForCausalLM'],
    ...{ hidden_size: 64, intermediate_size: 128, num_hidden_layers: 2, vocab_size: 96 },
    ...{ num_attention_heads: 4, num_key_value_heads: 2, max_position_embeddings: 128 },
    ...{ rms_norm_eps: 1e-5, torch_dtype: 'bfloat16', eos_token_id: 2 },
  }
  const prompt = Array.from({ length: 30 }, (_, index) => 3 + ((7 * index) % 90))
  let folder: string
  let file: string
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'octavo-tuned-'))
    file = join(folder, 'cache', 'tuned.json')
    writeFileSync(join(folder, 'config.json'), JSON.stringify(config))
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  const load = (options: EngineOptions): Promise<Engine> =>
    Engine.load(folder, {
      ...{ device: 'cuda:0', loadFormat: 'dummy', maxSequences: 2, maxBatchTokens: 40 },
      ...options,
      memory: { kv: 2 ** 21 },
    })
  const written = (): NativeTuned[] =>
    (JSON.parse(readFileSync(file, 'utf8')) as { entries: NativeTuned[] }).entries

  async function tokensOf(engine: Engine): Promise<number[]> {
    await using session = engine.createSession()
    const run = session.generate(prompt, { maxNewTokens: 6, temperature: 0, ignoreEos: true })
    return (await run.result).tokens
  }

  const held = (engine: Engine): unknown =>
    engine.memory().ledger.map(({ tag, region, bytes }) => [tag, region, bytes])

  test('says the same tuned, and takes what it knows from the file the next time', async () => {
    const plain = await load({ graphs: false })
    const expected = { tokens: await tokensOf(plain), logits: await plain.logits(prompt) }
    const memory = held(plain)
    expect(plain.tuning()).toEqual({ enabled: false, seconds: 0, entries: [], unfinished: 0 })
    plain.dispose()
    const reports = []
    for (const graphs of [false, true]) {
      const engine = await load({ tune: { seconds: 60, file }, graphs })
      reports.push(engine.tuning())
      const { data } = await engine.logits(prompt)
      expectSameBits(data, expected.logits.data)
      expect(await tokensOf(engine)).toEqual(expected.tokens)
      if (!graphs) expect(held(engine)).toEqual(memory)
      engine.check()
      engine.dispose()
    }
    const [first, second] = reports
    expect(first!.unfinished).toBe(0)
    expect(first!.entries.length).toBeGreaterThan(0)
    for (const { rows, source, plan } of first!.entries) {
      expect([32, 40]).toContain(rows)
      expect(source).toBe('measured')
      expect(plan.sharing).not.toBe('depth')
    }
    expect(second!.entries).toEqual(first!.entries.map((entry) => ({ ...entry, source: 'file' })))
    expect(second!.unfinished).toBe(0)
    expect(written()).toEqual(first!.entries.map(({ source: _, ...entry }) => entry))
  })

  test('measures again what the file has of no tile, and what it lacks', async () => {
    const known = written()
    const [wrong] = known
    wrong!.plan = { rows: 64, columns: 40, sharing: 'none' }
    const text = JSON.parse(readFileSync(file, 'utf8')) as object
    writeFileSync(file, JSON.stringify({ ...text, entries: known.slice(0, -1) }))
    const engine = await load({ tune: { seconds: 60, file } })
    const sources = engine.tuning().entries.map(({ source }) => source)
    expect(sources.filter((source) => source === 'measured')).toHaveLength(2)
    expect(sources).toHaveLength(known.length)
    expect(written()).toHaveLength(known.length)
    engine.dispose()
  })

  test('takes no longer than it may, and says what it did not reach', async () => {
    rmSync(file)
    const engine = await load({ tune: { seconds: 1e-6, file } })
    const { entries, unfinished } = engine.tuning()
    expect(entries).toEqual([])
    expect(unfinished).toBeGreaterThan(0)
    expect(() => written()).toThrow(/ENOENT/)
    engine.dispose()
  })

  test('an aborted load stops it, keeps nothing and leaves nothing', async () => {
    const abort = new AbortController()
    const loading = load({
      tune: { seconds: 60, file },
      signal: abort.signal,
      onProgress: ({ doneBytes, totalBytes }) => {
        if (doneBytes === totalBytes) abort.abort(new Error('enough'))
      },
    })
    await expect(loading).rejects.toThrow('enough')
    expect(() => written()).toThrow(/ENOENT/)
  })
})
