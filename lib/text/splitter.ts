/** Splitting by a pattern, in the five ways of tokenizer.json (`SplitDelimiterBehavior`). */

import { invalid } from './json.js'

export type Splitter = (text: string) => string[]

interface Piece {
  text: string
  isDelimiter: boolean
}

type Behavior = (pieces: Piece[]) => string[]

const behaviors: Record<string, Behavior> = {
  Removed: (pieces) => pieces.filter((piece) => !piece.isDelimiter).map((piece) => piece.text),
  Isolated: (pieces) => pieces.map((piece) => piece.text),
  Contiguous: (pieces) => join(pieces, (left, right) => left.isDelimiter === right.isDelimiter),
  MergedWithPrevious: (pieces) =>
    join(pieces, (left, right) => !left.isDelimiter && right.isDelimiter),
  MergedWithNext: (pieces) => join(pieces, (left, right) => left.isDelimiter && !right.isDelimiter),
}

/** `invert`: the pattern says what to keep, the rest are the delimiters. */
export function makeSplitter(
  pattern: RegExp,
  behavior: string,
  invert: boolean,
  key: string,
): Splitter {
  const arrange = Object.hasOwn(behaviors, behavior) ? behaviors[behavior] : undefined
  if (arrange === undefined) throw invalid(`${key}.behavior`, `is "${behavior}", unknown to octavo`)
  const isolated = behavior === 'Isolated'
  return (text) => {
    if (isolated) {
      const matches = covering(text, pattern)
      if (matches !== null) return matches
    }
    return arrange(cut(text, pattern, invert))
  }
}

/** The matches alone where they leave nothing out, as most patterns do: no indices needed. */
function covering(text: string, pattern: RegExp): string[] | null {
  const matches = text.match(pattern) ?? []
  let covered = 0
  for (const match of matches) {
    if (match === '') return null
    covered += match.length
  }
  return covered === text.length ? matches : null
}

function cut(text: string, pattern: RegExp, invert: boolean): Piece[] {
  const pieces: Piece[] = []
  const add = (start: number, end: number, isDelimiter: boolean): void => {
    if (end > start) pieces.push({ text: text.slice(start, end), isDelimiter })
  }
  let end = 0
  for (const match of text.matchAll(pattern)) {
    add(end, match.index, invert)
    end = match.index + match[0].length
    add(match.index, end, !invert)
  }
  add(end, text.length, invert)
  return pieces
}

/** Joins neighbours that `belong` together; each is judged by the piece before it. */
function join(pieces: Piece[], belong: (left: Piece, right: Piece) => boolean): string[] {
  const joined: string[] = []
  pieces.forEach((piece, at) => {
    const before = pieces[at - 1]
    if (before !== undefined && belong(before, piece)) joined.push(joined.pop() + piece.text)
    else joined.push(piece.text)
  })
  return joined
}
