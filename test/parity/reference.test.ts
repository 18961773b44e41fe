/** Families and manifests, held to transformers' logits through a plain fp64 forward pass. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openCheckpoint } from '../../lib/checkpoint/index.js'
import type { NativeLayer, NativeModelSpec, NativeRope } from '../../lib/native.js'
import { compareGreedy, compareLogits } from './compare.js'
import { copyWithOldConfig, goldenNames, oldSpellingNames, readGolden } from './goldens.js'
import { ReferenceModel } from './reference.js'
import { sharedPath } from '../shared.js'

/** fp64 against fp32 eager: seen 3e-7 to 2e-6. */
const tolerance = 1e-5

const root = join(__dirname, '..', '..')

test.each(goldenNames)('%s: logits of every position and greedy ids', async (name) => {
  const golden = readGolden(name)
  const model = new ReferenceModel(await openCheckpoint(golden.folder))
  const logits = model.logits(golden.prompt)
  expect([logits.rows, logits.columns]).toEqual([golden.rows, golden.columns])
  const { relative, cosine } = compareLogits(logits.data, golden.logits, golden.columns)
  if (process.env['OCTAVO_PARITY_TABLE']) console.log(`${name}: ${relative.toExponential(2)}`)
  expect(relative).toBeLessThan(tolerance)
  expect(cosine).toBeGreaterThan(0.999999)
  const ids = model.greedy(golden.prompt, golden.greedy.length)
  const { decided, agreed } = compareGreedy(ids, golden.greedy, golden.margins, 1e-4)
  expect(decided).toBeGreaterThan(8)
  expect(agreed).toBe(decided)
})

test.each(oldSpellingNames)('%s: the config of transformers 4 means the same', async (name) => {
  const golden = readGolden(name)
  const folder = copyWithOldConfig(name)
  try {
    const [old, current] = [await openCheckpoint(folder), await openCheckpoint(golden.folder)]
    expect(old.spec).toEqual(current.spec)
    const { data } = new ReferenceModel(old).logits(golden.prompt)
    expect(compareLogits(data, golden.logits, golden.columns).relative).toBeLessThan(tolerance)
  } finally {
    rmSync(folder, { recursive: true })
  }
})

/** Of head size 16 and theta 10000, unscaled. */
const plainRope: NativeRope = {
  inverseFrequencies: Float32Array.from({ length: 8 }, (_, i) => 10_000 ** (-i / 8)),
  magnitude: 1,
}

const changes: [name: string, what: string, change: (spec: NativeModelSpec) => void][] = [
  [
    'mistral-window',
    'window',
    ({ layers }) => layers.forEach((layer) => (layer.attention.window = 8)),
  ],
  ['qwen2-window', 'window of one layer', ({ layers }) => (layers[1]!.attention.window = 0)],
  ['llama-rope-llama3', 'rope', (spec) => (spec.ropes[0] = plainRope)],
  ['llama-rope-linear', 'rope', (spec) => (spec.ropes[0] = plainRope)],
  ['llama-rope-yarn', 'rope magnitude', (spec) => (spec.ropes[0]!.magnitude = 1)],
  ['qwen3', 'q/k norm', ({ layers }) => attention(layers, (spec) => (spec.queryKeyNorm = false))],
  ['qwen2-tied', 'qkv bias', ({ layers }) => attention(layers, (spec) => (spec.qkvBias = false))],
  [
    'llama-biases',
    'o bias',
    ({ layers }) => attention(layers, (spec) => (spec.outputBias = false)),
  ],
  ['llama-biases', 'mlp bias', ({ layers }) => layers.forEach((layer) => (layer.mlp.bias = false))],
]

function attention(layers: NativeLayer[], change: (spec: NativeLayer['attention']) => void): void {
  for (const layer of layers) change(layer.attention)
}

test.each(changes)('%s notices a wrong %s', async (name, _, change) => {
  const golden = readGolden(name)
  const checkpoint = await openCheckpoint(golden.folder)
  change(checkpoint.spec)
  const { data } = new ReferenceModel(checkpoint).logits(golden.prompt)
  expect(compareLogits(data, golden.logits, golden.columns).relative).toBeGreaterThan(1e-3)
})

test('stories260k: the first 30 tokens of the published story', async () => {
  const folder = join(root, 'models', 'stories260k')
  const [golden] = JSON.parse(readFileSync(join(folder, 'golden-greedy.json'), 'utf8')) as [
    { ids: number[] },
  ]
  const model = new ReferenceModel(await openCheckpoint(folder))
  expect(golden.ids[0]).toBe(1)
  expect(model.greedy([1], 30)).toEqual(golden.ids.slice(1, 31))
})

const smollm2 = sharedPath('models', 'smollm2-135m')
const tool = sharedPath('tools', 'expand-gguf.mjs')
const testSmollm2 = smollm2 !== null && tool !== null ? test : test.skip

// The plain pass takes a second a token of the prompt: the two shortest prompts do; the engine takes them all.
testSmollm2('SmolLM2-135M: the eight largest first logits of two prompts', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'octavo-smollm2-'))
  try {
    execFileSync(process.execPath, [tool!, join(smollm2!, 'model.gguf'), folder], { stdio: 'pipe' })
    const model = new ReferenceModel(await openCheckpoint(folder))
    const golden = JSON.parse(readFileSync(join(smollm2!, 'golden.json'), 'utf8')) as SmolGolden
    const shortest = golden.cases.sort((a, b) => a.ids.length - b.ids.length).slice(0, 2)
    for (const { ids, firstTop8 } of shortest) {
      const { data } = model.logits(ids, true)
      const order = [...data.keys()].sort((a, b) => data[b]! - data[a]!).slice(0, 8)
      expect(order).toEqual(firstTop8.ids)
      const found = firstTop8.ids.map((id) => data[id]!)
      expect(compareLogits(found, firstTop8.logits, 8).relative).toBeLessThan(1e-4)
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
})

interface SmolGolden {
  cases: { ids: number[]; firstTop8: { ids: number[]; logits: number[] } }[]
}
