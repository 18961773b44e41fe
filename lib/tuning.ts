/** `engine.tuning()`: how dense products were divided into tiles, by measurement. */
import type { NativeTuning } from './native-tuning.js'

/** How a product is divided. */
export interface TilePlan {
  /** Of the output, that one block of threads computes. */
  rows: number
  columns: number
  /**
   * What two blocks side by side have in common: nothing, the input rows or the weight rows that both read, or a tile of
   * which each adds up half ('depth').
   */
  sharing: 'none' | 'x' | 'weight' | 'depth'
}

/** One shape of product, and the plan that was the fastest for it. */
export interface TunedProduct {
  /** Tokens that it was measured with. It holds for those of the same bucket: up to 32, 64, 128 … 2048. */
  rows: number
  /** Outputs a token. */
  columns: number
  /** Inputs a token. */
  depth: number
  plan: TilePlan
  /** Of one product; `untunedMicroseconds` with the plan that was predicted to be the best. */
  microseconds: number
  untunedMicroseconds: number
  /** By this load, or by an earlier one that left it in the file. */
  source: 'measured' | 'file'
}

export interface TuningReport {
  /** Option `tune`. */
  enabled: boolean
  /** Seconds that the load took for it. */
  seconds: number
  /** Empty where nothing can be chosen, as on the CPU. */
  entries: TunedProduct[]
  /** Shapes that the time did not reach: their plans are the predicted ones. */
  unfinished: number
}

export function tuningReport({
  enabled,
  seconds,
  entries,
  unfinished,
}: NativeTuning): TuningReport {
  const describe = ({ wasKnown, ...entry }: NativeTuning['entries'][number]): TunedProduct => ({
    ...entry,
    source: wasKnown ? 'file' : 'measured',
  })
  return { enabled, seconds, entries: entries.map(describe), unfinished }
}
