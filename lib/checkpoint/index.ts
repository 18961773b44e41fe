/** Opening a checkpoint: a folder in, a spec and a weight manifest out; no weight is read. */
import { join, resolve } from 'node:path'
import { OctavoError } from '../errors.js'
import { familyOf } from '../families/index.js'
import type { NativeModelSpec } from '../native.js'
import { modelConfigOf } from './config.js'
import { listFolder, throwIfAborted } from '../disk.js'
import type { Fields } from './fields.js'
import { dummyTensors } from './dummy-tensors.js'
import { bosTokenIdOf, eosTokenIdsOf, generationDefaultsOf } from './generation.js'
import { readJson } from './json.js'
import { assemble } from './manifest.js'
import { namingOf, type Naming } from './naming.js'
import { readQuantization } from './quantization/index.js'
import { readTensors, type TensorTable } from './tensors.js'
import type { Checkpoint } from './types.js'
import { refuseUnexpected } from './unused.js'
import { weightFileOf } from './weight-file.js'

export interface CheckpointOptions {
  /** Ids that the tokenizer knows, default all rows of the embedding: larger ids are never sampled. */
  sampledVocabulary?: number
  /** No file of weights is looked for: they will be made at random from this. */
  dummySeed?: number
  signal?: AbortSignal
}

/**
 * Reads a Hugging Face folder's config.json, generation_config.json and the headers of its *.safetensors,
 * and checks all of them against each other. Takes no device memory.
 *
 * Throws OCTAVO_IO_FAILED (a file or folder is missing), OCTAVO_CHECKPOINT_INVALID (a file is broken),
 * OCTAVO_CHECKPOINT_MISMATCH (tensors do not fit the config), OCTAVO_UNSUPPORTED_MODEL,
 * OCTAVO_TOKENIZER_INVALID (the tokenizer knows more ids than the embedding has rows), OCTAVO_CANCELLED.
 */
export async function openCheckpoint(
  folder: string,
  options: CheckpointOptions = {},
): Promise<Checkpoint> {
  const { signal, dummySeed } = options
  throwIfAborted(signal)
  const path = resolve(folder)
  const names = await listFolder(path)
  const weights = dummySeed === undefined ? weightFileOf(path, names) : null
  const config = modelConfigOf(await readJson(join(path, 'config.json'), signal))
  const family = familyOf(config)
  const quantization = await readQuantization(path, names, config, signal)
  const generation = await readGeneration(path, names, signal)
  const stored = weights === null ? null : await readTensors(path, weights, signal)

  const naming = namingOf(stored?.tensors ?? new Map())
  const { spec, parameters } = family.modelOf(config, stored === null || hasHead(stored, naming))
  const table = stored ?? dummyTensors(parameters, quantization, config)
  const { manifest, unused, ...totals } = assemble(parameters, table, naming, quantization)
  if (dummySeed !== undefined) manifest.dummySeed = dummySeed
  refuseUnexpected(unused, naming, config.fields !== config.root)
  setSampledVocabulary(spec, options.sampledVocabulary)
  throwIfAborted(signal)
  return {
    folder: path,
    architecture: config.architecture ?? config.modelType ?? spec.family,
    spec,
    manifest,
    isDummy: dummySeed !== undefined,
    quantization: quantization?.method ?? null,
    ...totals,
    bosTokenId: bosTokenIdOf(generation, config.fields),
    eosTokenIds: eosTokenIdsOf(generation, config.fields, spec.vocabularySize),
    generation: generationDefaultsOf(generation),
    ignoredTensors: unused,
  }
}

/** As numbers or as codes. */
function hasHead({ tensors }: TensorTable, { head }: Naming): boolean {
  return ['weight', 'qweight', 'weight_packed'].some((name) =>
    tensors.has(head.replace(/weight$/, name)),
  )
}

async function readGeneration(
  path: string,
  names: readonly string[],
  signal: AbortSignal | undefined,
): Promise<Fields | null> {
  const file = 'generation_config.json'
  return names.includes(file) ? readJson(join(path, file), signal) : null
}

function setSampledVocabulary(spec: NativeModelSpec, size: number | undefined): void {
  if (size === undefined) return
  if (!Number.isInteger(size) || size < 1) {
    const problem = `sampledVocabulary must be a positive integer, got ${String(size)}`
    throw new OctavoError('OCTAVO_INVALID_ARGUMENT', problem)
  }
  if (size > spec.vocabularySize) {
    const problem = `the tokenizer knows ${size} ids, but the embedding has ${spec.vocabularySize} rows`
    throw new OctavoError('OCTAVO_TOKENIZER_INVALID', `${problem}: they belong to different models`)
  }
  spec.sampledVocabulary = size
}
