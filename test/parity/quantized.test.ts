/** The sixteen quantised folders and the plain one: weights to fp32 rounding, logits to 1e-4, and every byte planned. */
import { join } from 'node:path'
import { openCheckpoint } from '../../lib/checkpoint/index.js'
import { Engine } from '../../lib/index.js'
import { compareLogits } from './compare.js'
import { openMemory, testing } from '../helpers/native-testing.js'
import { logitsOf, quantizedGolden, quantizedNames, quantizedRoot } from './quantized-cases.js'

/** Checkpoint modules of each parameter, in the order of its rows. */
const modules: Record<string, string[]> = {
  'attention.qkv': ['self_attn.q_proj', 'self_attn.k_proj', 'self_attn.v_proj'],
  'attention.output': ['self_attn.o_proj'],
  'mlp.gateUp': ['mlp.gate_proj', 'mlp.up_proj'],
  'mlp.down': ['mlp.down_proj'],
}
const rows: Record<string, number> = {
  q_proj: 576,
  k_proj: 192,
  v_proj: 192,
  o_proj: 576,
  gate_proj: 1536,
  up_proj: 1536,
  down_proj: 576,
}

const present = quantizedRoot === null ? describe.skip : describe

present('the shared quantised models', () => {
  it('are seventeen folders', () => {
    expect(quantizedNames).toHaveLength(17)
  })

  describe.each(quantizedNames)('%s', (name) => {
    it('has the weights that its tools have', async () => {
      const { spec, manifest } = await openCheckpoint(join(quantizedRoot!, name))
      const { weights } = quantizedGolden(name)
      const memory = openMemory()
      const load = { spec, manifest, dtype: 'fp32', keepFileDType: true } as const
      testing.validateManifest(spec, manifest)
      const model = new testing.Model(memory, load)
      expect(memory.statistics('weights').allocatedBytes).toBe(testing.weightBytes(load))
      for (const [parameter, parts] of Object.entries(modules)) {
        const { values } = model.read(`layers.0.${parameter}`)
        const columns = parameter === 'mlp.down' ? 1536 : 576
        let start = 0
        for (const module of parts) {
          const part = values.subarray(start, start + rows[module.split('.')[1]!]! * columns)
          start += part.length
          expectWeight(part, weights[`model.layers.0.${module}.weight`]!)
        }
        expect(start).toBe(values.length)
      }
      model.dispose()
      memory.check()
      expect(memory.lines()).toEqual([])
    })

    it('has the logits', async () => {
      const { logits, argmax } = quantizedGolden(name)
      const ours = await logitsOf(name, 'cpu')
      const width = logits.length / argmax.length
      expect(compareLogits(ours, logits, width).relative).toBeLessThan(1e-4)
      const best = argmax.map((_, position) => {
        const row = ours.subarray(position * width, (position + 1) * width)
        return row.indexOf(Math.max(...row))
      })
      expect(best).toEqual(argmax)
    })

    it.each(['auto', 'bf16'] as const)('holds in %s what was planned', async (dtype) => {
      const options = { device: 'cpu', dtype, memory: { kv: 2 ** 20 } } as const
      const folder = join(quantizedRoot!, name)
      const plan = await Engine.plan(folder, options)
      await using engine = await Engine.load(folder, options)
      const { regions } = engine.memory()
      expect(regions.weights.allocatedBytes).toBe(plan.regions.weights)
      expect(regions.graph.allocatedBytes).toBe(plan.regions.graph)
      const staging = plan.loading.find(({ tag }) => tag === 'weights.staging')?.bytes ?? 0
      expect(regions.workspace.allocatedPeakBytes).toBe(staging)
      expect(regions.pinned.allocatedPeakBytes).toBe(plan.pinnedPeakBytes)
    })

    it('takes no more memory than the plain model', async () => {
      const options = { device: 'cpu', dtype: 'bf16', memory: { kv: 2 ** 20 } } as const
      const plan = await Engine.plan(join(quantizedRoot!, name), options)
      const plain = await Engine.plan(join(quantizedRoot!, 'base'), options)
      expect(plan.regions.weights).toBeLessThanOrEqual(plain.regions.weights)
      expect(plan.peakBytes).toBeLessThanOrEqual(plain.peakBytes)
    })
  })
})

function expectWeight(
  values: Float32Array,
  golden: { sum: number; abs: number; first: number[] },
): void {
  const sum = values.reduce((total, value) => total + value, 0)
  const abs = values.reduce((total, value) => total + Math.abs(value), 0)
  expect([...values.subarray(0, 4)]).toEqual(golden.first.map((value) => Math.fround(value)))
  expect(Math.abs(sum - golden.sum) / golden.abs).toBeLessThan(1e-7)
  expect(Math.abs(abs / golden.abs - 1)).toBeLessThan(1e-7)
}
