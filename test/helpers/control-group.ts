/** A real control group with a memory limit, below the one this process is in; where the machine lets us make one. */
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

interface Hierarchy {
  version: 1 | 2
  /** Of this process's own group. */
  folder: string
}

/** Where memory is controlled: version 1's own mount, else version 2's tree. */
function ownHierarchy(): Hierarchy {
  const groups = readFileSync('/proc/self/cgroup', 'utf8')
  const mounts = readFileSync('/proc/self/mountinfo', 'utf8')
  const first = /^\d+:(?:[^:]*,)?memory(?:,[^:]*)?:(.*)$/m.exec(groups)?.[1]
  const firstMount = /^(?:\S+ ){3}\S+ (\S+) .* - cgroup \S+ \S*\bmemory\b/m.exec(mounts)?.[1]
  if (first !== undefined && firstMount !== undefined) {
    return { version: 1, folder: join(firstMount, first) }
  }
  const second = /^0::(.*)$/m.exec(groups)?.[1]
  const secondMount = /^(?:\S+ ){3}\S+ (\S+) .* - cgroup2 /m.exec(mounts)?.[1]
  if (second === undefined || secondMount === undefined) {
    throw new Error('no control group of this process counts memory')
  }
  return { version: 2, folder: join(secondMount, second) }
}

export class ControlGroup {
  readonly folder: string
  readonly #version: 1 | 2

  /** Throws, in words, where the machine does not let us. */
  constructor() {
    const { version, folder } = ownHierarchy()
    this.#version = version
    this.folder = join(folder, `octavo-test-${process.pid}`)
    mkdirSync(this.folder)
    try {
      this.setLimit(2 ** 40)
    } catch (error) {
      rmdirSync(this.folder)
      throw error
    }
  }

  setLimit(bytes: number): void {
    const file = this.#version === 1 ? 'memory.limit_in_bytes' : 'memory.max'
    const path = join(this.folder, file)
    if (!existsSync(path)) throw new Error(`${path} is not there: no memory controller`)
    writeFileSync(path, String(bytes))
  }

  /** Processes that the kernel killed in it for want of memory. */
  kills(): number {
    const file = this.#version === 1 ? 'memory.oom_control' : 'memory.events'
    const text = readFileSync(join(this.folder, file), 'utf8')
    return Number(/^oom_kill (\d+)$/m.exec(text)?.[1] ?? NaN)
  }

  /** A shell command that runs `command` in the group. */
  enter(command: string): string {
    return `echo $$ > '${join(this.folder, 'cgroup.procs')}' && exec ${command}`
  }

  /** Its processes must have ended. */
  remove(): void {
    rmdirSync(this.folder)
  }
}

/** The group, or why there is none. */
export function makeControlGroup():
  { group: ControlGroup; problem: '' } | { group: null; problem: string } {
  try {
    return { group: new ControlGroup(), problem: '' }
  } catch (error) {
    return { group: null, problem: (error as Error).message }
  }
}
