/** A conversation: its KV stays between generations. */
import './polyfill.js'
import type { Engine } from './engine.js'
import { fromNative } from './errors.js'
import { Generation } from './generation.js'
import type { NativeEngine } from './native.js'
import type { SessionReport } from './memory.js'
import type { ChatOptions, GenerateOptions, Prompt } from './options/generate-options.js'
import {
  newTokens,
  readChatOptions,
  readGenerateOptions,
  type GenerateSettings,
} from './options/generate-settings.js'
import { chatIds, promptIds } from './prompt.js'
import { disposedError, type EngineState } from './runtime/engine-state.js'
import { GenerateRequest } from './runtime/generate-request.js'
import { roomFor } from './runtime/kv-room.js'
import { creationStack, unwatch, watch } from './runtime/leaks.js'
import type { ChatMessage, Detokenizer, Tokenizer } from './text/types.js'

/**
 * A conversation a caller holds. It keeps the KV of what it has processed: the next prompt pays only for the
 * tokens after the longest common beginning. One generation at a time.
 *
 * @example
 * ```ts
 * import { Engine } from 'octavo'
 * await using engine = await Engine.load()
 * using session = engine.createSession()
 * const { text } = await session.generate('Tom had a red ball', { maxNewTokens: 20 }).result
 * console.log(text)
 * ```
 */
export class Session {
  readonly #engine: Engine
  readonly #id: number
  readonly #state: EngineState
  readonly #stack: string
  /** 0: no quota */
  readonly #quotaBytes: number
  #disposed = false
  #fence: Promise<void> | null = null

  /** @internal Use engine.createSession(). */
  constructor(
    engine: Engine,
    state: EngineState,
    quotaBytes: number,
    create: (native: NativeEngine) => number,
  ) {
    this.#engine = engine
    this.#state = state
    this.#quotaBytes = quotaBytes
    try {
      this.#id = create(state.native)
    } catch (error) {
      throw fromNative(error)
    }
    this.#stack = creationStack()
    const id = this.#id
    watch(this, {
      what: `Session ${id}`,
      stack: this.#stack,
      release: () => {
        if (state.disposed) return false
        state.native.disposeSession(id).catch(() => {})
        return true
      },
    })
  }

  /** The engine it belongs to. */
  get engine(): Engine {
    return this.#engine
  }

  /** As the ledger and `engine.memory().sessions` name it. */
  get id(): number {
    return this.#id
  }

  /** True after `dispose()`, of the session or its engine. */
  get disposed(): boolean {
    return this.#disposed || this.#state.disposed
  }

  /**
   * Continues `prompt`, which is the whole context: what the session's KV already holds of it is not computed
   * again. A string is encoded with the tokenizer's special tokens (BOS); ids are taken as they are.
   *
   * Throws at once what is wrong with the call: OCTAVO_UNKNOWN_OPTION, OCTAVO_INVALID_ARGUMENT,
   * OCTAVO_NO_TOKENIZER, OCTAVO_CONTEXT_EXCEEDED, OCTAVO_DISPOSED. What the engine refuses later reaches the
   * consumer of the generation.
   *
   * @example
   * ```ts
   * import { Engine } from 'octavo'
   * await using engine = await Engine.load()
   * using session = engine.createSession()
   * for await (const piece of session.generate('Lily went', { maxNewTokens: 16, temperature: 0.8, seed: 1 })) {
   *   process.stdout.write(piece.text)
   * }
   * ```
   */
  generate(prompt: Prompt, options?: GenerateOptions): Generation {
    this.assertOpen()
    const settings = readGenerateOptions(options, this.#state.limits)
    const { text, limits } = this.#state
    return this.#generation(promptIds(prompt, text, limits, limits.contextLength - 1), settings)
  }

  /**
   * Answers a conversation: the model's chat template turns the messages (all of them, oldest first) into a
   * prompt. Throws what `generate` throws, OCTAVO_NO_CHAT_TEMPLATE, and OCTAVO_TEMPLATE_FAILED where the template
   * does not parse or refuses the messages.
   *
   * @example
   * ```ts
   * import { Engine } from 'octavo'
   * await using engine = await Engine.load('smollm2-135m') // a chat model's folder
   * using session = engine.createSession()
   * const messages = [{ role: 'user', content: 'Why is the sky blue?' }]
   * const { text } = await session.chat(messages, { maxNewTokens: 64 }).result
   * messages.push({ role: 'assistant', content: text }, { role: 'user', content: 'Say it shorter.' })
   * console.log((await session.chat(messages).result).usage.cachedTokens)
   * ```
   */
  chat(messages: readonly ChatMessage[], options: ChatOptions = {}): Generation {
    this.assertOpen()
    const { text, limits } = this.#state
    const { settings, template } = readChatOptions(options, limits)
    return this.#generation(chatIds(messages, template, text, limits), settings)
  }

  /**
   * A session that holds what this one does, in the same KV blocks, and goes its own way from here: several answers to
   * one prompt, or a branch of a conversation. A block is copied only when one of those who share it writes into it.
   * Throws OCTAVO_SESSION_BUSY while a generation runs, and OCTAVO_DISPOSED.
   *
   * @example
   * ```ts
   * import { Engine } from 'octavo'
   * await using engine = await Engine.load()
   * using session = engine.createSession()
   * await session.generate('Tom had a red ball', { maxNewTokens: 1 }).result
   * using other = session.fork()
   * const answers = [session, other].map((each, seed) =>
   *   each.generate('Tom had a red ball', { maxNewTokens: 20, temperature: 1, seed }).result,
   * )
   * for (const { text, usage } of await Promise.all(answers)) console.log(usage.cachedTokens, text)
   * ```
   */
  fork(): Session {
    this.assertOpen()
    const fork = (native: NativeEngine): number => native.forkSession(this.#id)
    return new Session(this.#engine, this.#state, this.#quotaBytes, fork)
  }

  /**
   * Whoever it serves is still there: renews the lease that `heartbeat` of `engine.createSession` began; without one it does
   * nothing. Throws OCTAVO_LEASE_EXPIRED when it comes too late, and OCTAVO_DISPOSED.
   */
  heartbeat(): void {
    this.assertOpen()
    try {
      this.#state.native.heartbeat(this.#id)
    } catch (error) {
      throw fromNative(error)
    }
  }

  /** What this session holds now. Throws OCTAVO_DISPOSED. */
  memory(): SessionReport {
    this.assertOpen()
    const report = this.#state.native.report().sessions.find(({ id }) => id === this.#id)
    const nothing = {
      blocks: 0,
      blocksOfOthers: 0,
      bytes: 0,
      tokens: 0,
      state: 'idle',
      place: 0,
      parent: 0,
    }
    return report ?? { id: this.#id, ...nothing }
  }

  /**
   * Cancels what runs and takes every byte off the session's ledger line before it returns; running
   * generations throw OCTAVO_DISPOSED. Always safe, any number of times.
   */
  dispose(): void {
    if (this.#disposed) return
    this.#disposed = true
    unwatch(this)
    if (this.#state.disposed) return
    this.#state.requests.fail(disposedError('session'), this.#id)
    this.#fence = this.#state.native.disposeSession(this.#id)
    this.#fence.catch(() => {})
  }

  /** `dispose()`. */
  [Symbol.dispose](): void {
    this.dispose()
  }

  /** `dispose()`, and waits until no work in flight can touch the session's blocks any more. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.dispose()
    await this.#fence?.catch((error: unknown) => {
      if (!this.#state.disposed) throw fromNative(error)
    })
  }

  /** Throws OCTAVO_DISPOSED. */
  assertOpen(): void {
    this.#state.assertOpen()
    if (this.#disposed) throw disposedError('session')
  }

  #generation(prompt: Int32Array, settings: GenerateSettings): Generation {
    const { native, requests, text, limits } = this.#state
    const { sampling, stop, logprobs, keepSpecialTokens, n, signal } = settings
    const demand = { promptTokens: prompt.length, samples: n, quotaBytes: this.#quotaBytes }
    const room = (): number => roomFor(demand, this.#state.kv)
    const maxNewTokens = newTokens(settings.maxNewTokens, prompt.length, limits, room)
    const pieces = Array.from({ length: n }, (_, index) => ({
      index,
      detokenizer: text && continuing(text.tokenizer, prompt, keepSpecialTokens),
      stop,
      silent: new Set(keepSpecialTokens ? [] : sampling.stopTokens),
      wantsLogprobs: logprobs !== null,
    }))
    const request = { ...sampling, prompt, maxNewTokens, score: false }
    const parts = { native, requests, session: this.#id, request, pieces, signal, owner: this }
    return new Generation(new GenerateRequest(parts), this.#stack)
  }
}

/**
 * A detokenizer that stands at the end of the prompt, so that the prompt's text and the pieces' make the text
 * of all tokens: SentencePiece drops the space of a first word, and a character may span the border. It has
 * four bytes at most, so the last few tokens tell.
 */
function continuing(
  tokenizer: Tokenizer,
  prompt: Int32Array,
  keepSpecialTokens: boolean,
): Detokenizer {
  const detokenizer = tokenizer.detokenizer({ keepSpecialTokens })
  // Rows of the embedding past the tokenizer's ids are padding: no text.
  const known = prompt.slice(-8).filter((id) => id < tokenizer.vocabularySize)
  for (const id of known) detokenizer.push(id)
  return detokenizer
}
