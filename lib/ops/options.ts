/** Options objects of ops: names are checked here, values by the op that takes them. */
import { OptionReader } from '../options/reader.js'

/** The same options; undefined is `{}`. Throws OCTAVO_UNKNOWN_OPTION and OCTAVO_INVALID_ARGUMENT (no object). */
export function readOptions<Options extends object>(
  options: Options | undefined,
  known: Record<keyof Options, true>,
  prefix = '',
): Options {
  return new OptionReader<Options>(options, known, prefix).all() as Options
}
