/** Finding added tokens in text: the longest at the leftmost place, as in the original. */

import { trailingSpace } from './normalizer.js'
import type { AddedToken } from './vocabulary.js'

/** Plain text, or the id of an added token that stood in it. */
export type Section = string | number

/** `\w` of Unicode (UTS #18, annex C), as Rust's regex has it. */
const word = /[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]/u
const leadingSpace = /^\p{White_Space}+/u

export class AddedTokenFinder {
  private readonly byContent = new Map<string, AddedToken>()
  private readonly pattern: RegExp | null

  /** `spell`: how a token's content looks in the text that will be searched. */
  constructor(tokens: readonly AddedToken[], spell: (content: string) => string) {
    for (const token of tokens) {
      const content = spell(token.content)
      if (content !== '') this.byContent.set(content, token)
    }
    // An alternation takes its first branch that matches: longest first.
    const contents = [...this.byContent.keys()].sort((a, b) => b.length - a.length)
    const branches = contents.map((content) => content.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'))
    this.pattern = branches.length === 0 ? null : new RegExp(branches.join('|'), 'g')
  }

  /** `text` cut at the tokens found in it; empty pieces are left out. */
  split(text: string): Section[] {
    const sections: Section[] = []
    let done = 0
    if (this.pattern === null) return text === '' ? [] : [text]
    for (const match of text.matchAll(this.pattern)) {
      const token = this.byContent.get(match[0]) as AddedToken
      if (match.index < done) continue
      const [start, end] = extent(token, text, done, match.index, match.index + match[0].length)
      if (start === end) continue
      if (start > done) sections.push(text.slice(done, start))
      sections.push(token.id)
      done = end
    }
    if (done < text.length) sections.push(text.slice(done))
    return sections
  }
}

/** The piece of text a token found at `start` to `end` takes; an empty one if it may not stand. */
function extent(
  token: AddedToken,
  text: string,
  done: number,
  start: number,
  end: number,
): [number, number] {
  if (token.singleWord && (endsWithWord(text, start) || startsWithWord(text, end)))
    return [end, end]
  const before = token.leftStrip ? trailingSpace(text.slice(done, start)) : 0
  const after = token.rightStrip ? (leadingSpace.exec(text.slice(end))?.[0].length ?? 0) : 0
  return [start - before, end + after]
}

function startsWithWord(text: string, at: number): boolean {
  const point = text.codePointAt(at)
  return point !== undefined && word.test(String.fromCodePoint(point))
}

function endsWithWord(text: string, at: number): boolean {
  const character = /.$/su.exec(text.slice(Math.max(0, at - 2), at))
  return character !== null && word.test(character[0])
}
