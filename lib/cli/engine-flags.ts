/** Flags that say how a model is loaded, refused by their own names. */
import {
  blockSizes,
  dtypeNames,
  isDevice,
  kvDTypeNames,
  loadFormats,
} from '../options/engine-options.js'
import type { EngineOptions, KvOptions } from '../options/engine-options.js'
import type { Arguments, Flags } from './arguments.js'

/** How steps are planned and launched: `args.either` reads them. */
export const stepFlags: Flags = {
  overlap: { type: 'boolean' },
  'no-overlap': { type: 'boolean' },
  graphs: { type: 'boolean' },
  'no-graphs': { type: 'boolean' },
}

export const stepFlagsHelp = `      --[no-]overlap       plan the next step while one runs (default: on CUDA)
      --[no-]graphs        replay decode steps as CUDA graphs (default: on CUDA)`

export function modelFlag(args: Arguments): string | undefined {
  return args.path('model', 'the folder of a model')
}

export function deviceFlag(args: Arguments): string | undefined {
  const device = args.text('device')
  if (device === undefined || isDevice(device)) return device
  throw args.refusal('device', 'auto, cpu, cuda or cuda:N')
}

export function threadsFlag(args: Arguments): number | undefined {
  return args.integer('threads', { min: 0, max: 1024 })
}

export function blockSizeFlag(args: Arguments): KvOptions['blockSize'] {
  const name = 'kv-block-size'
  const size = args.text(name)
  const found = blockSizes.find((known) => String(known) === size)
  if (size === undefined || found !== undefined) return found
  throw args.refusal(name, blockSizes.join(', '))
}

export function dtypeFlag(args: Arguments): EngineOptions['dtype'] {
  return nameFlag(args, 'dtype', dtypeNames)
}

export function kvDTypeFlag(args: Arguments): KvOptions['dtype'] {
  return nameFlag(args, 'kv-dtype', kvDTypeNames)
}

function nameFlag<Name extends string>(
  args: Arguments,
  flag: string,
  names: readonly Name[],
): Name | undefined {
  const given = args.text(flag)
  const found = names.find((known) => known === given)
  if (given === undefined || found !== undefined) return found
  throw args.refusal(flag, names.join(', '))
}

export function loadFormatFlag(args: Arguments): EngineOptions['loadFormat'] {
  const name = 'load-format'
  const format = args.text(name)
  const found = loadFormats.find((known) => known === format)
  if (format === undefined || found !== undefined) return found
  throw args.refusal(name, loadFormats.join(', '))
}
