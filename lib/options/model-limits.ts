/** What the options of a generation are checked against. */
import type { GenerationDefaults } from '../checkpoint/types.js'

export interface ModelLimits {
  /** Ids below this exist. */
  vocabularySize: number
  /** Tokens a sequence may have, prompt and output together. */
  contextLength: number
  eosTokenIds: readonly number[]
  defaults: GenerationDefaults
  hasTokenizer: boolean
}
