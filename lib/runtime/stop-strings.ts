/** Finds stop strings in text that arrives in pieces, holding back what may be the start of one. */

export interface StopScan {
  /** Text that is certainly not part of a stop string. */
  text: string
  /** The stop string that is now complete: everything from its first character on is withheld. */
  stop: string | null
}

/**
 * The result does not depend on how the text is cut: as if fed character by character, the stop string that
 * is complete first ends the text; of several that end together, the longest.
 */
export class StopMatcher {
  readonly #stops: readonly string[]
  #held = ''

  constructor(stops: readonly string[]) {
    this.#stops = stops
  }

  push(text: string): StopScan {
    const all = this.#held + text
    const match = this.#firstComplete(all)
    if (match !== null) {
      this.#held = ''
      return { text: all.slice(0, match.start), stop: match.stop }
    }
    const safe = all.length - this.#heldLength(all)
    this.#held = all.slice(safe)
    return { text: all.slice(0, safe), stop: null }
  }

  /** What was held back: the text is at its end, so it starts nothing. */
  flush(): string {
    const held = this.#held
    this.#held = ''
    return held
  }

  #firstComplete(text: string): { start: number; stop: string } | null {
    let best: { start: number; end: number; stop: string } | null = null
    for (const stop of this.#stops) {
      const start = text.indexOf(stop)
      if (start < 0) continue
      const end = start + stop.length
      const better = best === null || end < best.end || (end === best.end && start < best.start)
      if (better) best = { start, end, stop }
    }
    return best
  }

  /** Length of the longest end of `text` that begins a stop string. */
  #heldLength(text: string): number {
    let longest = 0
    for (const stop of this.#stops) {
      const most = Math.min(stop.length - 1, text.length)
      for (let length = most; length > longest; length--) {
        if (text.endsWith(stop.slice(0, length))) longest = length
      }
    }
    return longest
  }
}
