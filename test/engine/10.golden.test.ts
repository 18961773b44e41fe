/** The published stories, token for token, however the work is cut up. */
import { storiesGolden } from '../helpers/stories-model.js'
import { TestEngine } from '../helpers/native-engine.js'

const promptLengths = new Map([
  ['', 1],
  ['The little dog', 5],
])
const goldens = storiesGolden.map(({ prompt, ids }) => {
  const length = promptLengths.get(prompt) ?? 1
  return { prompt: ids.slice(0, length), output: ids.slice(length) }
})

test('one session tells the golden stories', async () => {
  const engine = await TestEngine.load()
  for (const { prompt, output } of goldens) {
    const { tokens, finishes } = await engine.fresh({ prompt, maxNewTokens: output.length })
    expect(tokens).toEqual(output)
    expect(finishes[0]).toMatchObject({
      reason: 'length',
      promptTokens: prompt.length,
      cachedTokens: 0,
      outputTokens: output.length,
      logits: null,
    })
  }
  engine.native.check()
  await engine.close()
})
