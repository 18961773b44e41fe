/** What a generation hands out, and the assembly of it from single tokens. */
import type { Detokenizer } from '../text/types.js'
import { StopMatcher } from './stop-strings.js'

/** One token's log-probability (natural logarithm), of the untouched logits. */
export interface TokenLogprob {
  token: number
  logprob: number
  /** The likeliest tokens, best first; as many as `logprobs` asked for. */
  top: { token: number; logprob: number }[]
}

/**
 * Text and the tokens it came from. The texts of all pieces make `result.text`, their tokens `result.tokens`.
 * A piece holds more than one token where a character or a possible stop string spans them; the last one
 * may have no text (an EOS token). Without a tokenizer every token is a piece and the text is ''.
 */
export interface Piece {
  /** Of the sample that it belongs to, from 0; see `n`. */
  index: number
  text: string
  tokens: number[]
  /** Present when `logprobs` was asked for: one entry a token. */
  logprobs?: TokenLogprob[]
}

export interface PieceSettings {
  /** Of the sample. */
  index: number
  /** null: no tokenizer */
  detokenizer: Detokenizer | null
  stop: readonly string[]
  /** Token ids that end the generation: their own text is left out. */
  silent: ReadonlySet<number>
  wantsLogprobs: boolean
}

/** Turns tokens into pieces and keeps the whole. */
export class PieceAssembler {
  readonly #settings: PieceSettings
  readonly #matcher: StopMatcher
  #pending: Piece
  readonly #texts: string[] = []
  readonly tokens: number[] = []
  readonly logprobs: TokenLogprob[] = []
  /** The stop string that ended the text. */
  stopString: string | null = null

  constructor(settings: PieceSettings) {
    this.#settings = settings
    this.#matcher = new StopMatcher(settings.stop)
    this.#pending = this.#emptyPiece()
  }

  get text(): string {
    return this.#texts.join('')
  }

  /** The piece that this token completes, or null. After a stop string nothing more may be pushed. */
  push(token: number, logprob: TokenLogprob | null): Piece | null {
    this.tokens.push(token)
    this.#pending.tokens.push(token)
    if (this.#settings.wantsLogprobs && logprob !== null) {
      this.logprobs.push(logprob)
      this.#pending.logprobs?.push(logprob)
    }
    const { detokenizer } = this.#settings
    if (detokenizer === null) return this.#take('')
    if (this.#settings.silent.has(token)) return null
    return this.#scan(detokenizer.push(token))
  }

  /** The last piece, with whatever was held back; null when nothing is left. */
  finish(): Piece | null {
    let text = ''
    if (this.stopString === null && this.#settings.detokenizer !== null) {
      const scan = this.#matcher.push(this.#settings.detokenizer.flush())
      this.stopString = scan.stop
      text = scan.stop === null ? scan.text + this.#matcher.flush() : scan.text
    }
    return text === '' && this.#pending.tokens.length === 0 ? null : this.#take(text)
  }

  #scan(text: string): Piece | null {
    const scan = this.#matcher.push(text)
    this.stopString = scan.stop
    return scan.text === '' && scan.stop === null ? null : this.#take(scan.text)
  }

  #take(text: string): Piece {
    const piece = this.#pending
    piece.text = text
    this.#texts.push(text)
    this.#pending = this.#emptyPiece()
    return piece
  }

  #emptyPiece(): Piece {
    const { index, wantsLogprobs } = this.#settings
    return { index, text: '', tokens: [], ...(wantsLogprobs && { logprobs: [] }) }
  }
}
