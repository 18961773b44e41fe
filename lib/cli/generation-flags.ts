/** The flags that `generate` and `chat` share. */
import type { EngineOptions } from '../options/engine-options.js'
import type { GenerateOptions } from '../options/generate-options.js'
import { ranges } from '../options/generate-settings.js'
import type { GenerationDefaults } from '../checkpoint/types.js'
import type { Arguments, Flags } from './arguments.js'
import { blockSizeFlag, deviceFlag, stepFlags, stepFlagsHelp, threadsFlag } from './engine-flags.js'
import { snapshotFlags, snapshotFlagsHelp, traceLevel } from './memory-snapshot.js'
import { tell } from './output.js'

export const generationFlags: Flags = {
  model: { type: 'string', short: 'm' },
  device: { type: 'string', short: 'd' },
  threads: { type: 'string' },
  'kv-block-size': { type: 'string' },
  ...stepFlags,
  'max-new-tokens': { type: 'string', short: 'n' },
  temperature: { type: 'string', short: 't' },
  'top-p': { type: 'string' },
  'top-k': { type: 'string' },
  'min-p': { type: 'string' },
  seed: { type: 'string' },
  stop: { type: 'string', multiple: true },
  ...snapshotFlags,
  help: { type: 'boolean', short: 'h' },
}

export const generationFlagsHelp = `  -m, --model FOLDER       folder with config.json, *.safetensors, tokenizer.json (default: the model inside)
  -d, --device ID          auto (default), cpu, cuda, cuda:1 …
      --threads N          threads on the CPU (default: every core)
      --kv-block-size N    tokens a KV block: 16, 32 (default) or 64
${stepFlagsHelp}
  -n, --max-new-tokens N   tokens to produce at most (default: the model's own, else 512)
  -t, --temperature T      0 is greedy (default: the model's own, which is 0 where its files ask for no sampling)
      --top-p P            draw from the likeliest tokens that together reach P
      --top-k K            draw from the K likeliest tokens
      --min-p P            leave out tokens below P times the likeliest one's probability
      --seed N             same seed, same text (default: random); like the three above nothing at temperature 0
      --stop TEXT          end before TEXT; may be given several times
${snapshotFlagsHelp}`

/** One generation at a time: the KV cache needs no more than one context. */
export function engineOptions(args: Arguments): EngineOptions {
  return {
    device: deviceFlag(args),
    threads: threadsFlag(args),
    kv: { blockSize: blockSizeFlag(args) },
    overlap: args.either('overlap'),
    graphs: args.either('graphs'),
    maxSequences: 1,
    memory: { trace: traceLevel(args) },
  }
}

/** Everything that can be checked without the model is, by the flag's name. */
export function generateOptions(args: Arguments): GenerateOptions {
  return {
    maxNewTokens: args.integer('max-new-tokens', ranges.maxNewTokens),
    temperature: args.number('temperature', ranges.temperature),
    topP: args.number('top-p', ranges.topP),
    topK: args.integer('top-k', ranges.topK),
    minP: args.number('min-p', ranges.minP),
    seed: args.uint64('seed'),
    stop: args.list('stop'),
  }
}

const drawing = ['top-p', 'top-k', 'min-p', 'seed']

/** Says on stderr which flags change nothing, because the likeliest token is taken and none is drawn. */
export function tellIdleFlags(args: Arguments, { greedy }: GenerationDefaults): void {
  const temperature = args.number('temperature')
  const idle = drawing.filter((name) => args.text(name) !== undefined)
  if (idle.length === 0 || (temperature ?? (greedy ? 0 : 1)) !== 0) return
  const flags = idle.map((name) => `--${name}`).join(' and ')
  const own = temperature === undefined ? " (the model's own default)" : ''
  tell(
    `octavo: temperature is 0${own}, which is greedy: ${flags} ${idle.length > 1 ? 'change' : 'changes'} nothing\n`,
  )
}
