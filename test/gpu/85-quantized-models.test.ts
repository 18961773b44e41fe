/** Every quantised format of the shared models on a card: the golden logits by cosine, and every byte as planned. */
import { join } from 'node:path'
import { Engine } from '../../lib/index.js'
import { expectNothingLive } from '../helpers/nothing-live.js'
import { compareLogits } from '../parity/compare.js'
import {
  quantizedGolden,
  quantizedNames,
  quantizedRoot,
  quantizesActivations,
} from '../parity/quantized-cases.js'

afterAll(expectNothingLive)

if (quantizedRoot === null) {
  test.skip('the quantised models are not beside the repository', () => {})
} else {
  describe.each(quantizedNames)('%s', (name) => {
    it.each(['bf16', 'fp16', 'fp32'] as const)('in %s', async (dtype) => {
      const { ids, logits, argmax } = quantizedGolden(name)
      const options = { device: 'cuda:0', dtype, memory: { kv: 2 ** 22 }, maxBatchTokens: 64 }
      const folder = join(quantizedRoot!, name)
      await using engine = await Engine.load(folder, options)
      const { data } = await engine.logits(ids)
      const width = logits.length / argmax.length
      const { cosine } = compareLogits(data, logits, width)
      expect(cosine).toBeGreaterThanOrEqual(quantizesActivations(name) ? 0.99 : 0.999)

      // One position at a time takes the way of few rows.
      const { data: first } = await engine.logits(ids.slice(0, 3))
      const alone = compareLogits(first, logits.subarray(0, 3 * width), width)
      expect(alone.cosine).toBeGreaterThanOrEqual(quantizesActivations(name) ? 0.99 : 0.999)

      const plan = await Engine.plan(folder, options)
      const { regions } = engine.memory()
      for (const region of ['weights', 'graph'] as const) {
        expect([region, regions[region].allocatedBytes]).toEqual([region, plan.regions[region]])
      }
      const staging = plan.loading.find(({ tag }) => tag === 'weights.staging')?.bytes ?? 0
      expect(regions.workspace.allocatedPeakBytes).toBe(staging)
      expect(regions.pinned.allocatedPeakBytes).toBe(plan.pinnedPeakBytes)
      engine.check()
    })
  })
}
