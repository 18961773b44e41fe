/** The `model` of tokenizer.json: byte-pair encoding, the kind that language models use. */

import { arrayAt, flagAt, invalid, stringAt, type JsonObject } from './json.js'
import { MergeTable } from './merge-table.js'
import { rankLimit } from './merge-queue.js'
import type { Vocabulary } from './vocabulary.js'

export interface BpeModel {
  merges: MergeTable
  /** For characters outside the vocabulary: their bytes as `<0xNN>` tokens, byte → id. */
  byteFallback: readonly number[] | null
  /** For what even bytes cannot say; without one it is left out. */
  unknownId: number | null
  /** Unknown characters in a row become one token. */
  fuseUnknown: boolean
  /** A word found whole in the vocabulary is not merged (Llama 3). */
  ignoreMerges: boolean
}

/** Refuses models of another kind before anything is built from them. */
export function checkModelKind(model: JsonObject): void {
  const { type } = model
  if (type !== 'BPE' && !(type === undefined && Array.isArray(model.merges))) {
    throw invalid('model.type', `is ${JSON.stringify(type)}; octavo reads "BPE" only`)
  }
  for (const affix of ['continuing_subword_prefix', 'end_of_word_suffix']) {
    const value = model[affix]
    if (value === undefined || value === null || value === '') continue
    throw invalid(`model.${affix}`, `is ${JSON.stringify(value)}; octavo reads models without one`)
  }
}

export function parseBpeModel(model: JsonObject, vocabulary: Vocabulary): BpeModel {
  const unknown = model.unk_token ?? null
  const unknownId = unknown === null ? null : vocabulary.idOf(stringAt(unknown, 'model.unk_token'))
  if (unknownId === undefined) {
    throw invalid(
      'model.unk_token',
      `is ${JSON.stringify(unknown)}, which is not in the vocabulary`,
    )
  }
  const fallback = flagAt(model.byte_fallback, 'model.byte_fallback', false)
  return {
    merges: parseMerges(arrayAt(model.merges, 'model.merges'), vocabulary),
    byteFallback: fallback ? byteTokens(vocabulary) : null,
    unknownId,
    fuseUnknown: flagAt(model.fuse_unk, 'model.fuse_unk', false),
    ignoreMerges: flagAt(model.ignore_merges, 'model.ignore_merges', false),
  }
}

/** `"a b"` or `["a", "b"]`, in order of rank. */
function parseMerges(merges: readonly unknown[], vocabulary: Vocabulary): MergeTable {
  if (merges.length > rankLimit) {
    throw invalid(
      'model.merges',
      `has ${merges.length} entries; the most octavo reads is ${rankLimit}`,
    )
  }
  const table = new MergeTable(merges.length)
  merges.forEach((merge, rank) => {
    const [left, right] = parsePair(merge, rank)
    const leftId = vocabulary.idOf(left)
    const rightId = vocabulary.idOf(right)
    const merged = vocabulary.idOf(left + right)
    if (leftId === undefined || rightId === undefined || merged === undefined) {
      const what = `joins "${left}" and "${right}", not all in the vocabulary`
      throw invalid(`model.merges[${rank}]`, what)
    }
    table.set(leftId, rightId, rank, merged)
  })
  return table
}

function parsePair(merge: unknown, rank: number): [string, string] {
  if (typeof merge === 'string') {
    const at = merge.indexOf(' ')
    if (at !== -1) return [merge.slice(0, at), merge.slice(at + 1)]
  } else if (Array.isArray(merge) && merge.length === 2) {
    const [left, right] = merge as unknown[]
    if (typeof left === 'string' && typeof right === 'string') return [left, right]
  }
  throw invalid(`model.merges[${rank}]`, `must be two tokens, not ${JSON.stringify(merge)}`)
}

/** All 256 or none: with one missing, a character could end half written. */
function byteTokens(vocabulary: Vocabulary): number[] | null {
  const ids: number[] = []
  for (let byte = 0; byte < 256; byte++) {
    const hex = byte.toString(16).toUpperCase().padStart(2, '0')
    const id = vocabulary.idOf(`<0x${hex}>`)
    if (id === undefined) return null
    ids.push(id)
  }
  return ids
}
