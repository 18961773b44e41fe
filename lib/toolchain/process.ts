/** Running the tools of a build: found on PATH, streamed line by line, remembered for the error. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { basename, delimiter, dirname, isAbsolute, join } from 'node:path'
import { createInterface } from 'node:readline'

/** A child can lead a group of its own. */
const hasGroups = process.platform !== 'win32'

/** The full path of `name` on PATH, or null. */
export function findOnPath(name: string, path: string = process.env['PATH'] ?? ''): string | null {
  const suffixes = process.platform === 'win32' ? ['.exe', '.cmd', ''] : ['']
  for (const folder of path.split(delimiter).filter(Boolean)) {
    for (const suffix of suffixes) {
      const file = join(folder, name + suffix)
      try {
        accessSync(file, constants.X_OK)
        return file
      } catch {
        continue
      }
    }
  }
  return null
}

/** Whether a shell would find the program that a variable such as CXX names; arguments may follow it ('ccache g++'). */
export function isProgram(command: string): boolean {
  const names = [command.trim(), command.trim().split(/\s+/)[0]!]
  return names.some((name) => {
    if (!name.includes('/') && !isAbsolute(name)) return findOnPath(name) !== null
    return findOnPath(basename(name), dirname(name)) !== null
  })
}

/** What a command prints on stdout, trimmed; null when it cannot be run or fails. */
export function capture(command: string, args: readonly string[]): string | null {
  const result = spawnSync(command, args, { env: process.env, encoding: 'utf8' })
  return result.status === 0 ? result.stdout.trim() : null
}

export interface ProcessResult {
  status: number
  /** The last lines of stdout and stderr, in the order they came. */
  tail: string[]
}

/** A signal that was sent to us ended what we ran. */
export class StoppedBySignal extends Error {
  constructor(readonly signal: NodeJS.Signals) {
    super(`stopped by ${signal}`)
  }
}

const stopping: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP']

/**
 * Ends the child and all that it started at a signal that would end us, so that nothing is left behind; a second one
 * kills. By SIGTERM: what a shell starts in the background ignores SIGINT, and so do its children. Returns which signal
 * came first, and what ends this.
 */
function passSignals(child: ChildProcess): { first: () => NodeJS.Signals | null; end: () => void } {
  let first: NodeJS.Signals | null = null
  const pass = (signal: NodeJS.Signals): void => {
    const sent = first === null ? 'SIGTERM' : 'SIGKILL'
    first ??= signal
    if (child.pid === undefined) return
    try {
      if (hasGroups) process.kill(-child.pid, sent)
      else child.kill(sent)
    } catch {
      // It has ended.
    }
  }
  for (const signal of stopping) process.on(signal, pass)
  return {
    first: () => first,
    end: () => {
      for (const signal of stopping) process.removeListener(signal, pass)
    },
  }
}

/** Runs a command to its end and hands every line of its output to `onLine`. Throws StoppedBySignal. */
export async function runProcess(
  command: string,
  args: readonly string[],
  folder: string,
  onLine: (line: string) => void,
): Promise<ProcessResult> {
  const child = spawn(command, args, {
    cwd: folder,
    env: process.env,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: hasGroups,
  })
  const signals = passSignals(child)
  const tail: string[] = []
  const take = (line: string): void => {
    tail.push(line)
    if (tail.length > 60) tail.shift()
    onLine(line)
  }
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', take)
  }
  const status = await new Promise<number>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => resolve(code ?? (signal === null ? 1 : 128)))
  }).finally(signals.end)
  const signal = signals.first()
  if (signal !== null) throw new StoppedBySignal(signal)
  return { status, tail }
}
