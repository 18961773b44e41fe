/** Prompts without text: ids at random, alike where a trace says that prompts are. */
import type { Arrival } from './arrivals.js'
import { RandomNumbers } from './random-numbers.js'

export interface PromptOptions {
  /** Ids below this. */
  vocabulary: number
  seed: number
  /** Tokens that one of `Arrival.blocks` stands for. */
  blockTokens: number
}

/** Apart from the hash ids, so that no prompt shares tokens by accident. */
const own = 0x70726f6d

/** Fills `prompt` from `start` on. */
function fill(prompt: Int32Array, start: number, random: RandomNumbers, vocabulary: number): void {
  for (let at = start; at < prompt.length; at++) prompt[at] = random.integer(0, vocabulary - 1)
}

/** The prompt of request `index`: the tokens of its blocks, then its own. */
export function promptOf(
  { inputTokens, blocks }: Pick<Arrival, 'inputTokens' | 'blocks'>,
  index: number,
  { vocabulary, seed, blockTokens }: PromptOptions,
): Int32Array {
  const prompt = new Int32Array(inputTokens)
  let start = 0
  for (const block of blocks) {
    if (start >= inputTokens) break
    const end = Math.min(start + blockTokens, inputTokens)
    fill(prompt.subarray(start, end), 0, new RandomNumbers(seed, block), vocabulary)
    start = end
  }
  fill(prompt, start, new RandomNumbers(seed, own, index), vocabulary)
  return prompt
}
