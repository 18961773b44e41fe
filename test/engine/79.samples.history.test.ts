/** Sequences that share a long prompt have all seen its tokens: more than the blocks they hold could. */
import { TestEngine, type RequestOptions } from '../helpers/native-engine.js'
import { smallSpec, writeRandomModel, type RandomModel } from '../helpers/random-model.js'

const vocabulary = 4096
const distinct = 2500
const samples = 8
/** What the sampler is planned for: tokens of the pool, one more a sequence, and the biases of all of them. */
const room = 16 * 180 + samples + samples * 1024

let model: RandomModel
beforeAll(() => {
  const sizes = { vocabularySize: vocabulary, sampledVocabulary: vocabulary, contextLength: 4096 }
  model = writeRandomModel(smallSpec(sizes, undefined, 1), { seed: 3 })
})
afterAll(() => {
  model.remove()
})

const request: RequestOptions = {
  prompt: Array.from({ length: distinct }, (_, index) => index),
  maxNewTokens: 6,
  temperature: 1,
  repetitionPenalty: 1.5,
  seed: 9n,
}

test.each([false, true])(
  'all are sampled, later where it must be; overlap: %s',
  async (overlap) => {
    expect(samples * distinct).toBeGreaterThan(room)
    const blockBytes = 2 * 2 * 16 * 4 * 16
    const options = { kvBytes: 180 * blockBytes, maxSequences: samples, overlap }
    const engine = await TestEngine.load(options, 1, model.manifest, model.spec)
    const session = engine.native.createSession()
    const runs = engine.startAll(session, { ...request, samples })
    const finishes = await Promise.all(runs.map(({ finish }) => finish))
    expect(finishes.map(({ message }) => message)).toEqual(Array(samples).fill(''))
    await engine.native.disposeSession(session)
    for (const [index, { tokens }] of runs.entries()) {
      const alone = await engine.fresh({ ...request, seed: 9n + BigInt(index) })
      expect(tokens).toEqual(alone.tokens)
    }
    engine.native.check()
    await engine.close()
  },
)
