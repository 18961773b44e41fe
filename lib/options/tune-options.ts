/** `tune` of `Engine.load`. */
import { invalid, isArray, isPath, OptionReader } from './reader.js'

/** How the fastest division of dense products is looked for. */
export interface TuneOptions {
  /** That it may take at most, above 0 and up to 60. Default 5. */
  seconds?: number | undefined
  /**
   * Where results are kept for the next load. Default: `octavo/tuned-<card>.json` in `$XDG_CACHE_HOME`, or in `~/.cache`
   * where that is not set.
   */
  file?: string | undefined
}

export interface TuneSettings {
  seconds: number
  /** null: the default */
  file: string | null
}

/** true, false or TuneOptions; null: nothing is measured. Throws OCTAVO_UNKNOWN_OPTION and OCTAVO_INVALID_ARGUMENT. */
export function readTuneOptions(options: unknown): TuneSettings | null {
  if (options === undefined || options === false) return null
  const given = options === true ? undefined : options
  if (given !== undefined && (typeof given !== 'object' || given === null || isArray(given))) {
    throw invalid('tune', given, 'true, false or an object of options')
  }
  const read = new OptionReader<TuneOptions>(given, { seconds: true, file: true }, 'tune')
  const file = read.raw('file')
  if (file !== undefined && !isPath(file)) throw read.invalid('file', 'the path of a file')
  return { seconds: read.number('seconds', { above: 0, max: 60 }) ?? 5, file: file ?? null }
}
