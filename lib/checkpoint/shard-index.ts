/** `model.safetensors.index.json`: which shard holds which tensor. */
import { OctavoError } from '../errors.js'
import { shorten } from './fields.js'
import { readJson } from './json.js'

export const shardIndexName = 'model.safetensors.index.json'

const mostShards = 10_000

/**
 * Tensor name → shard name, every shard a plain *.safetensors path inside the folder.
 * Throws OCTAVO_CHECKPOINT_INVALID, OCTAVO_IO_FAILED.
 */
export async function readShardIndex(
  path: string,
  signal?: AbortSignal,
): Promise<Map<string, string>> {
  const index = await readJson(path, signal)
  const map = index.optionalObject('weight_map')
  if (map === null) throw invalid('"weight_map" is missing')
  const homes = new Map<string, string>()
  const shards = new Set<string>()
  for (const [tensor, shard] of Object.entries(map.values)) {
    if (typeof shard !== 'string') {
      throw invalid(
        `the file of "${shorten(tensor)}" must be a string, got ${shorten(JSON.stringify(shard))}`,
      )
    }
    if (!isInsideFolder(shard)) {
      throw invalid(
        `${shorten(JSON.stringify(shard))} is not the name of a *.safetensors file in the folder`,
      )
    }
    homes.set(tensor, shard)
    shards.add(shard)
  }
  if (homes.size === 0) throw invalid('"weight_map" is empty')
  if (shards.size > mostShards)
    throw invalid(`it names ${shards.size} files, at most ${mostShards} are read`)
  return homes
}

/** Refuses absolute paths, drive letters, backslashes and any `.` or `..` segment. */
export function isInsideFolder(name: string): boolean {
  if (!name.endsWith('.safetensors') || /[\\:\0]/.test(name)) return false
  return name.split('/').every((segment) => segment !== '' && segment !== '.' && segment !== '..')
}

function invalid(problem: string): OctavoError {
  return new OctavoError('OCTAVO_CHECKPOINT_INVALID', `${shardIndexName}: ${problem}`)
}
