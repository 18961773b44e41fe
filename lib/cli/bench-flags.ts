/** The flags that all of `octavo bench` share: which model, and how it is loaded. */
import type { Lengths } from '../bench/arrivals.js'
import type { EngineOptions } from '../options/engine-options.js'
import type { Arguments, Flags } from './arguments.js'
import {
  blockSizeFlag,
  deviceFlag,
  dtypeFlag,
  kvDTypeFlag,
  loadFormatFlag,
  stepFlags,
  stepFlagsHelp,
  threadsFlag,
} from './engine-flags.js'
import { bytesFlag, limitFlag } from './sizes.js'

const text = { type: 'string' } as const

export const benchFlags: Flags = {
  model: { type: 'string', short: 'm' },
  'load-format': text,
  device: { type: 'string', short: 'd' },
  threads: text,
  'memory-limit': text,
  kv: text,
  'kv-block-size': text,
  dtype: text,
  'kv-dtype': text,
  sequences: text,
  'batch-tokens': text,
  admission: text,
  'prefix-cache': { type: 'boolean' },
  ...stepFlags,
  tune: { type: 'boolean' },
  seed: text,
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
}

export const benchFlagsHelp = `  -m, --model FOLDER       folder of the model (default: the model inside)
      --load-format F      files (default), or dummy: weights at random for a folder with config.json alone
  -d, --device ID          auto (default), cpu, cuda, cuda:1 …
      --threads N          threads on the CPU (default: every core)
      --memory-limit X     ceiling on everything: a fraction of the memory up to 1, or a size (default 0.85)
      --kv SIZE            bytes of the KV cache (default: what the limit leaves)
      --kv-block-size N    tokens a KV block: 16, 32 (default) or 64
      --dtype T            auto (default), fp32, bf16 or fp16: weights and activations
      --kv-dtype T         auto (default), fp32, bf16, fp16, fp8_e4m3 or int8
      --sequences N        sequences that run at once
      --batch-tokens N     tokens of one step
      --admission A        guaranteed (default) or optimistic
      --prefix-cache       keep KV for prompts that begin alike
${stepFlagsHelp}
      --tune               measure how products are best divided before the load ends
      --seed N             another seed, other prompts (default 0)
      --json               one JSON object on stdout
  -h, --help`

const count = { min: 1, max: 2 ** 31 - 1 }

function admissionFlag(args: Arguments): EngineOptions['admission'] {
  const value = args.text('admission')
  if (value === undefined || value === 'guaranteed' || value === 'optimistic') return value
  throw args.refusal('admission', 'guaranteed or optimistic')
}

/** `sequences`: where the flag says nothing. */
export function benchEngineOptions(args: Arguments, sequences?: number): EngineOptions {
  return {
    device: deviceFlag(args),
    threads: threadsFlag(args),
    loadFormat: loadFormatFlag(args),
    memory: { limit: limitFlag(args, 'memory-limit'), kv: bytesFlag(args, 'kv') },
    kv: { blockSize: blockSizeFlag(args), dtype: kvDTypeFlag(args) },
    dtype: dtypeFlag(args),
    maxSequences: args.integer('sequences', { min: 1, max: 65536 }) ?? sequences,
    maxBatchTokens: args.integer('batch-tokens', { min: 1, max: 1048576 }),
    admission: admissionFlag(args),
    prefixCache: args.has('prefix-cache'),
    overlap: args.either('overlap'),
    graphs: args.either('graphs'),
    tune: args.has('tune'),
  }
}

export const seedFlag = (args: Arguments): number =>
  args.integer('seed', { min: 0, max: Number.MAX_SAFE_INTEGER }) ?? 0

export const countFlag = (args: Arguments, name: string, fallback: number): number =>
  args.integer(name, count) ?? fallback

/** Times something is done that may be left out. */
export const timesFlag = (args: Arguments, name: string, fallback: number): number =>
  args.integer(name, { ...count, min: 0 }) ?? fallback

/** '128', or '16-8192': every length between them alike. */
export function lengthsFlag(args: Arguments, name: string, fallback: number): Lengths {
  const given = args.text(name)
  if (given === undefined) return { min: fallback, max: fallback }
  const [, low, high] = /^(\d{1,9})(?:-(\d{1,9}))?$/.exec(given) ?? []
  const lengths = { min: Number(low), max: Number(high ?? low) }
  if (lengths.min >= 1 && lengths.max >= lengths.min) return lengths
  throw args.refusal(name, "a number of tokens, or two like '16-8192'")
}
