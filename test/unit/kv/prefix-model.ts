/** The prefix cache as plain lists: what the property test holds the real one to. */
import type { NativePrefixOptions } from '../../../lib/native.js'

export interface ModelBlock {
  id: number
  block: number
  depth: number
  last: number
  before: number
  time: number
  retained: boolean
  /** The owner first. */
  holders: number[]
}

const compare = (a: number[], b: number[]): number => {
  const at = a.findIndex((value, index) => value !== b[index])
  return at < 0 ? 0 : a[at]! - b[at]!
}

export class ModelPrefix {
  readonly found = new Map<number, ModelBlock>()
  readonly history = new Map<number, number>()
  uses = 0
  now = 0
  merged = 0
  evicted = 0

  constructor(
    private readonly blocks: number,
    private readonly options: NativePrefixOptions,
  ) {}

  get kept(): ModelBlock[] {
    return [...this.found.values()].filter(({ holders }) => holders.length === 0)
  }

  /** Of all blocks of the pool: held or kept. */
  get live(): number {
    return this.found.size
  }

  hits(ids: number[]): number {
    const missing = ids.findIndex((id) => !this.found.has(id))
    return missing < 0 ? ids.length : missing
  }

  /** False when the pool has too few blocks free: nothing is held then, and what was found was used. */
  request(session: number, ids: number[]): boolean {
    const use = this.uses++
    const hits = this.hits(ids)
    const room = this.blocks - this.live >= ids.length - hits
    ids.forEach((id, depth) => {
      if (!room && depth >= hits) return
      const there = this.found.get(id)
      const entry = there ?? this.#enter(id, depth)
      entry.retained = false
      this.#count(entry, use)
      if (room) entry.holders.push(session)
      else if (entry.holders.length === 0) this.#keep(entry)
      if (there !== undefined && depth >= hits) this.merged++
    })
    return room
  }

  leave(session: number, ids: number[], drop: boolean): void {
    for (const id of ids) {
      const entry = this.found.get(id)!
      entry.holders.splice(entry.holders.indexOf(session), 1)
      if (entry.holders.length > 0) continue
      if (drop) this.#forget(entry)
      else this.#keep(entry)
    }
    this.evict(this.kept.length - Math.round(this.options.share * this.blocks), false)
  }

  evict(wanted: number, coldOnly: boolean): number {
    if (wanted <= 0) return 0
    const until = this.now - this.options.retentionMs
    for (const entry of this.kept) entry.retained &&= entry.time > until
    let gone = 0
    for (; gone < wanted; gone++) {
      const victim = this.#victim(coldOnly)
      if (victim === undefined) break
      this.#forget(victim)
    }
    this.evicted += gone
    return gone
  }

  #victim(coldOnly: boolean): ModelBlock | undefined {
    const lru = this.options.eviction === 'lru'
    const order = ({ before, last, depth, block }: ModelBlock): number[] =>
      lru ? [last, depth, block] : [before, last, -depth, block]
    const ordinary = this.kept
      .filter(({ retained }) => !retained)
      .sort((a, b) => compare(order(a), order(b)))
    const first = ordinary[0]
    if (first !== undefined) return lru || first.before < 0 || !coldOnly ? first : undefined
    if (coldOnly) return undefined
    const byTime = ({ time, depth, block }: ModelBlock): number[] => [time, -depth, block]
    return this.kept.sort((a, b) => compare(byTime(a), byTime(b)))[0]
  }

  #enter(id: number, depth: number): ModelBlock {
    const last = this.history.get(id) ?? -1
    this.history.delete(id)
    const entry = { id, block: -1, depth, last, before: -1, time: 0, retained: false, holders: [] }
    this.found.set(id, entry)
    return entry
  }

  #count(entry: ModelBlock, use: number): void {
    entry.time = this.now
    if (use - entry.last > this.options.correlatedUses) entry.before = entry.last
    entry.last = use
  }

  #keep(entry: ModelBlock): void {
    entry.retained = entry.before >= 0 && this.options.retentionMs > 0
  }

  #forget(entry: ModelBlock): void {
    this.found.delete(entry.id)
    this.history.delete(entry.id)
    this.history.set(entry.id, entry.last)
    const most = 4 * Math.round(this.options.share * this.blocks)
    while (this.history.size > most) this.history.delete(this.history.keys().next().value!)
  }
}
