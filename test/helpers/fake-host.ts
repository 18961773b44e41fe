/** A host made of files: what /proc and a control group of version 2 say, below a folder of its own. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

export interface HostState {
  /** Bytes of the machine. */
  total: number
  available: number
  /** Bytes of the group; null: no limit. */
  max: number | null
  high: number | null
  current: number
  fileCache: number
  events: { high: number; max: number; oom_kill: number }
  /** Percent of the last 10 seconds. */
  someStall: number
  fullStall: number
}

const GiB = 2 ** 30

export const calm: HostState = {
  total: 16 * GiB,
  available: 12 * GiB,
  max: 4 * GiB,
  high: null,
  current: GiB,
  fileCache: GiB / 2,
  events: { high: 0, max: 0, oom_kill: 0 },
  someStall: 0,
  fullStall: 0,
}

export class FakeHost {
  readonly #folder = mkdtempSync(join(tmpdir(), 'octavo-host-'))
  #state: HostState = calm

  constructor() {
    this.set({})
  }

  /** Ends with a slash. */
  get root(): string {
    return `${this.#folder}/`
  }

  /** Changes what the files say. */
  set(changes: Partial<HostState>): void {
    this.#state = { ...this.#state, ...changes }
    const { total, available, max, high, current, fileCache, events, ...stalls } = this.#state
    const { someStall, fullStall } = stalls
    const group = 'sys/fs/cgroup/app'
    const stall = (kind: string, share: number): string =>
      `${kind} avg10=${share.toFixed(2)} avg60=0.00 avg300=0.00 total=1`
    const files = {
      'proc/meminfo': `MemTotal: ${total / 1024} kB\nMemAvailable: ${available / 1024} kB`,
      'proc/self/cgroup': '0::/app',
      'proc/self/mountinfo': '30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw',
      [`${group}/memory.max`]: max ?? 'max',
      [`${group}/memory.high`]: high ?? 'max',
      [`${group}/memory.current`]: current,
      [`${group}/memory.stat`]: `anon 1\ninactive_file ${fileCache}\nactive_file 0`,
      [`${group}/memory.events`]: Object.entries(events)
        .map(([name, count]) => `${name} ${count}`)
        .join('\n'),
      [`${group}/memory.pressure`]: `${stall('some', someStall)}\n${stall('full', fullStall)}`,
    }
    for (const [path, contents] of Object.entries(files)) {
      mkdirSync(dirname(join(this.#folder, path)), { recursive: true })
      writeFileSync(join(this.#folder, path), `${contents}\n`)
    }
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true })
  }
}
