/** Real weights in every quantised format, held to what the formats' own tools make of them. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Engine } from '../../lib/index.js'
import { sharedPath } from '../shared.js'

interface Fixture {
  /** fp32, base64, [positions, vocabulary]. */
  logits: string
  argmax: number[]
  weights: Record<string, { sum: number; abs: number; first: number[] }>
}

interface Golden {
  ids: number[]
  fixtures: Record<string, Fixture>
}

export const quantizedRoot = sharedPath('models', 'smollm2-quantized')

/** Every folder, the plain one included; none where the shared data is absent. */
export const quantizedNames: readonly string[] =
  quantizedRoot === null
    ? []
    : readdirSync(quantizedRoot).filter((name) => statSync(join(quantizedRoot, name)).isDirectory())

let golden: Golden | undefined

export function quantizedGolden(name: string): { ids: number[] } & Omit<Fixture, 'logits'> & {
    logits: Float32Array
  } {
  golden ??= JSON.parse(readFileSync(join(quantizedRoot!, 'golden.json'), 'utf8')) as Golden
  const fixture = golden.fixtures[name]!
  const bytes = Buffer.from(fixture.logits, 'base64')
  const logits = new Float32Array(bytes.length / 4)
  new Uint8Array(logits.buffer).set(bytes)
  return { ...fixture, ids: golden.ids, logits }
}

/** Those whose activations a card quantises. */
export const quantizesActivations = (name: string): boolean => /fp8|w8a8/.test(name)

export async function logitsOf(name: string, device: string): Promise<Float32Array> {
  const { ids } = quantizedGolden(name)
  await using engine = await Engine.load(join(quantizedRoot!, name), {
    device,
    memory: { kv: 2 ** 20 },
    maxBatchTokens: 64,
  })
  const { data } = await engine.logits(ids)
  return data
}
