/** `octavo plan`: what a model would take, item by item, before anything of it is loaded. */
import { Engine } from '../engine.js'
import type { PlanOptions } from '../options/plan-options.js'
import type { MemoryPlan, PlanItem } from '../plan.js'
import { Arguments, type Flags } from './arguments.js'
import {
  blockSizeFlag,
  deviceFlag,
  dtypeFlag,
  kvDTypeFlag,
  loadFormatFlag,
  stepFlags,
  stepFlagsHelp,
} from './engine-flags.js'
import { exitCodes, exitCodesHelp } from './exit.js'
import { formatBytes } from './format.js'
import { output } from './output.js'
import { bytesFlag, limitFlag } from './sizes.js'
import { UsageError } from './usage.js'

const help = `octavo plan [MODEL] [options]

Says in bytes what a model would hold, item by item, the longest context and how many sessions fit; or the first item
that does not fit and by how much (exit code 1). Only config.json and the headers of the weights are read.
MODEL is a folder with config.json and *.safetensors (default: the model inside).

  -d, --device ID          auto (default), cpu, cuda, cuda:1 …
      --memory SIZE        plan for a device with SIZE of memory, such as 80GiB, which need not be here
      --context-memory SIZE  what the driver of that device takes for itself (default: not counted)
      --memory-limit X     ceiling on everything: a fraction of the memory up to 1, or a size (default 0.85)
      --pinned SIZE        ceiling on page-locked host memory
      --context N          tokens of a session that must fit
      --sequences N        sequences that run at once; with --context, so many sessions must fit
      --batch-tokens N     tokens of one step
      --load-format F      files (default), or dummy: config.json alone is read, the weights would be made at random
      --dtype T            auto (default), fp32, bf16 or fp16: weights and activations
      --kv SIZE            bytes of the KV cache (default: what the limit leaves)
      --kv-dtype T         auto (default), fp32, bf16, fp16, fp8_e4m3 or int8
      --kv-block-size N    tokens a KV block: 16, 32 (default) or 64
${stepFlagsHelp}
      --json               the same as one JSON object
  -h, --help

${exitCodesHelp}
`

const text = { type: 'string' } as const

const flags: Flags = {
  device: { type: 'string', short: 'd' },
  memory: text,
  'context-memory': text,
  'memory-limit': text,
  pinned: text,
  context: text,
  sequences: text,
  'batch-tokens': text,
  'load-format': text,
  dtype: text,
  kv: text,
  'kv-dtype': text,
  'kv-block-size': text,
  ...stepFlags,
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
}

function assumed(args: Arguments): PlanOptions['assume'] {
  const total = bytesFlag(args, 'memory')
  const context = bytesFlag(args, 'context-memory')
  if (total !== undefined) return { total, context }
  if (context === undefined) return undefined
  throw new UsageError(
    '--context-memory speaks of a device that is not here: give its memory with --memory too',
  )
}

function planOptions(args: Arguments): PlanOptions {
  const count = { min: 1 }
  const context = args.integer('context', count)
  const sequences = args.integer('sequences', count)
  return {
    device: deviceFlag(args),
    assume: assumed(args),
    memory: {
      limit: limitFlag(args, 'memory-limit'),
      kv: bytesFlag(args, 'kv'),
      pinned: bytesFlag(args, 'pinned'),
    },
    kv: {
      blockSize: blockSizeFlag(args),
      dtype: kvDTypeFlag(args),
    },
    loadFormat: loadFormatFlag(args),
    dtype: dtypeFlag(args),
    overlap: args.either('overlap'),
    graphs: args.either('graphs'),
    maxSequences: sequences,
    maxBatchTokens: args.integer('batch-tokens', count),
    context,
    sessions: context === undefined ? undefined : sequences,
  }
}

const whole = (value: number): string => value.toLocaleString('en-US')

/** Name, note and bytes in columns. */
function row(name: string, note: string, bytes: number | null): string {
  const figures = bytes === null ? 'not measured' : `${whole(bytes).padStart(19)} bytes`
  const readable = bytes === null ? '' : `  ${formatBytes(bytes)}`
  return `  ${name.padEnd(10)} ${note.padEnd(17)} ${figures}${readable}`
}

const itemRow = ({ region, tag, bytes }: PlanItem): string => row(region, tag, bytes)

function sessionLines({ kv, longestContext, session }: MemoryPlan): string[] {
  const { blocks, blockSize, blockBytes, tokenBytes, tokens, dtype } = kv
  return [
    `KV cache: ${whole(blocks)} blocks of ${blockSize} tokens (${dtype}, ${whole(blockBytes)} bytes each, ` +
      `${whole(tokenBytes)} a token), ${whole(tokens)} tokens in all`,
    `longest context: ${whole(longestContext)} tokens`,
    `sessions of ${whole(session.context)} tokens: ${whole(session.count)} at once, ${whole(session.bytes)} bytes each`,
  ]
}

function verdict({ missing }: MemoryPlan): string {
  if (missing === null) return 'It fits.'
  const { region, tag, bytes, leftBytes, shortBytes } = missing
  return (
    `It does not fit: ${region} / ${tag} needs ${whole(bytes)} bytes and ${whole(leftBytes)} are left, ` +
    `short by ${whole(shortBytes)} bytes (${formatBytes(shortBytes)}).`
  )
}

/** The plan as a table. */
export function describePlan(model: string, plan: MemoryPlan): string {
  const { items, loading, device, dtype, maxSequences, maxBatchTokens } = plan
  const onDevice = items.filter(({ region }) => region !== 'pinned')
  const pinned = items.filter(({ region }) => region === 'pinned')
  const lines = [
    `${model} on ${device}, ${dtype}: ${maxSequences} sequences, ${maxBatchTokens} tokens a step`,
    '',
    row('limit', '', plan.limitBytes),
    row('context', 'of the driver', plan.contextBytes),
    row('free', `of ${formatBytes(plan.totalBytes)}`, plan.freeBytes),
    row('room', '', plan.roomBytes),
    '',
    ...onDevice.map(itemRow),
    row('all', 'on the device', plan.plannedBytes),
    row('peak', 'while loading', plan.peakBytes),
    '',
    ...(plan.mappedBytes > 0 ? [row('mapped', 'stay in the files', plan.mappedBytes)] : []),
    ...pinned.map(itemRow),
    ...loading.map(({ region, tag, bytes }) => `${row(region, tag, bytes)}, while loading`),
    '',
    ...sessionLines(plan),
    verdict(plan),
  ]
  return `${lines.join('\n')}\n`
}

/** Runs the command; the exit code: 1 where the plan does not fit. */
export async function run(argv: readonly string[]): Promise<number> {
  const args = new Arguments(argv, flags)
  if (args.has('help')) {
    await output.write(help)
    return exitCodes.done
  }
  const [model, extra] = args.positionals
  if (extra !== undefined) {
    throw new UsageError(`plan takes one MODEL and got '${extra}' too`)
  }
  const plan = await Engine.plan(model, planOptions(args))
  const name = model ?? 'the model inside'
  await output.write(
    args.has('json') ? `${JSON.stringify(plan, null, 2)}\n` : describePlan(name, plan),
  )
  return plan.fits ? exitCodes.done : exitCodes.failed
}
