/** All tensors of a checkpoint folder, from one safetensors file or from the shards an index names. */
import { join } from 'node:path'
import { OctavoError } from '../errors.js'
import { throwIfAborted } from '../disk.js'
import type { TensorInfo } from './header.js'
import { readShardIndex, shardIndexName } from './shard-index.js'
import { readSafetensors } from './safetensors.js'

export interface StoredTensor extends TensorInfo {
  /** Index in `TensorTable.files`. */
  file: number
}

export interface TensorTable {
  /** Paths, absolute if the folder is. */
  files: string[]
  /** Names of the files as messages call them. */
  fileNames: string[]
  tensors: Map<string, StoredTensor>
}

/**
 * Reads every header; never a tensor. `weights` is a safetensors file of the folder, or the index.
 * Throws OCTAVO_CHECKPOINT_INVALID, OCTAVO_IO_FAILED, OCTAVO_CANCELLED.
 */
export async function readTensors(
  folder: string,
  weights: string,
  signal?: AbortSignal,
): Promise<TensorTable> {
  const sharded = weights === shardIndexName
  const homes = sharded ? await readShardIndex(join(folder, weights), signal) : null
  const fileNames = homes === null ? [weights] : [...new Set(homes.values())].sort()
  const files = fileNames.map((name) => join(folder, name))
  const tensors = new Map<string, StoredTensor>()
  for (const [file, name] of fileNames.entries()) {
    throwIfAborted(signal)
    for (const tensor of await readSafetensors(files[file]!, name, signal)) {
      if (!belongs(tensor.name, name, homes, tensors.get(tensor.name), fileNames)) continue
      tensors.set(tensor.name, { ...tensor, file })
    }
  }
  for (const [tensor, home] of homes ?? []) {
    if (tensors.has(tensor)) continue
    throw invalid(`${shardIndexName} says that "${tensor}" is in ${home}, but it is not`)
  }
  return { files, fileNames, tensors }
}

/** A tensor lives where the index says; one that the index forgot may be in one file only. */
function belongs(
  tensor: string,
  file: string,
  homes: ReadonlyMap<string, string> | null,
  other: StoredTensor | undefined,
  fileNames: readonly string[],
): boolean {
  const home = homes?.get(tensor)
  if (home !== undefined) return home === file
  if (other === undefined) return true
  throw invalid(`tensor "${tensor}" is both in ${fileNames[other.file]} and in ${file}`)
}

function invalid(problem: string): OctavoError {
  return new OctavoError('OCTAVO_CHECKPOINT_INVALID', problem)
}
