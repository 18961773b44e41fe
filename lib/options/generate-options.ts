/** What `session.generate` and `session.chat` accept. */
import type { ChatTemplateOptions } from '../text/types.js'
import type { TimeoutOptions } from './session-options.js'

/**
 * How one generation runs. A field left out takes the model's own default from generation_config.json where
 * that file has one, else the default named here.
 */
export interface GenerateOptions {
  /**
   * Tokens to produce at most, at least 1. Default: the model's own, else 512; cut to what the context, the KV cache and
   * the session's quota leave. A number given here that, with the prompt, exceeds one of these is refused: with
   * OCTAVO_CONTEXT_EXCEEDED, OCTAVO_REQUEST_TOO_LARGE, OCTAVO_QUOTA_EXCEEDED.
   */
  maxNewTokens?: number | undefined
  /**
   * 0 is greedy: the likeliest token, exactly. Default: 0 where the model's files do not ask for sampling
   * (`do_sample` false or absent), else their temperature, else 1.
   */
  temperature?: number | undefined
  /** Draw from the smallest set of tokens whose probability reaches this, above 0 up to 1. Default 1: all. No effect at temperature 0. */
  topP?: number | undefined
  /** Draw from the `topK` likeliest tokens; 0 (default) keeps all. No effect at temperature 0. */
  topK?: number | undefined
  /** Leave out tokens below this share of the likeliest one's probability, 0 (default) to 1. No effect at temperature 0. */
  minP?: number | undefined
  /** Divides the positive logits, multiplies the negative ones, of every token seen; 1 (default) does nothing. */
  repetitionPenalty?: number | undefined
  /** Subtracted from a token's logit once for every time the output holds it. Default 0. */
  frequencyPenalty?: number | undefined
  /** Subtracted from a token's logit when the output holds it. Default 0. */
  presencePenalty?: number | undefined
  /** Added to the logits of these token ids; −Infinity forbids a token. */
  logitBias?: Readonly<Record<number, number>> | ReadonlyMap<number, number> | undefined
  /**
   * Same seed, same prompt, same options: the same tokens. An integer from 0 below 2^64. Default: drawn at random. No
   * effect at temperature 0.
   */
  seed?: number | bigint | undefined
  /**
   * Samples of the prompt, 1 to 256, which is computed once; they share its KV until each goes its own way. Sample i
   * draws as a generation with `seed` + i (modulo 2^64) does. Default 1.
   */
  n?: number | undefined
  /** Text that ends the generation; it is not part of the output. Needs a tokenizer. */
  stop?: string | readonly string[] | undefined
  /** Token ids that end the generation, besides the model's EOS. Their text is not part of the output. */
  stopTokens?: readonly number[] | undefined
  /** Do not end at the model's EOS tokens. Default false. */
  ignoreEos?: boolean | undefined
  /** 0 to 20: report each token's log-probability and those of that many likeliest tokens. Default: none. */
  logprobs?: number | undefined
  /**
   * Of requests that wait, those of the highest priority are served first, whosever they are; their prompts too. An
   * integer of 32 bits. Default 0.
   */
  priority?: number | undefined
  /**
   * How long each of its stages may take, instead of what `engine.createSession` says: 'short', or milliseconds a stage;
   * `{}` lifts the session's.
   */
  timeouts?: 'short' | TimeoutOptions | undefined
  /** Keep special tokens (such as `<|im_end|>`) in the text. Default false. */
  keepSpecialTokens?: boolean | undefined
  /** Cancels the generation within one step; the iteration and `result` reject with the signal's reason. */
  signal?: AbortSignal | undefined
}

/** GenerateOptions and what the chat template reads. */
export interface ChatOptions extends GenerateOptions, ChatTemplateOptions {}

/** A prompt: text, or the token ids themselves. Ids are copied before the call returns. */
export type Prompt =
  string | readonly number[] | Int32Array | Uint32Array | Uint16Array | Uint8Array
