/** The golden stories cut into prompt and output ids. */
import { storiesGolden } from './stories-model.js'

/** Ids of the prompts, BOS included, as the model's tokenizer gives them. */
const promptLengths: Record<string, number> = { '': 1, 'The little dog': 5 }

export const goldens: { prompt: number[]; output: number[] }[] = storiesGolden.map(
  ({ prompt, ids }) => {
    const length = promptLengths[prompt] ?? 1
    return { prompt: ids.slice(0, length), output: ids.slice(length) }
  },
)

/** The first story with its BOS: a long text that the model continues as it stands. */
export const story: number[] = [...goldens[0]!.prompt, ...goldens[0]!.output]
