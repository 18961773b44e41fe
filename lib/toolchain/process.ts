/** Running the tools of a build: found on PATH, streamed line by line, remembered for the error. */
import { spawn, spawnSync } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { createInterface } from 'node:readline'

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

/** Runs a command to its end and hands every line of its output to `onLine`. */
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
  })
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
  })
  return { status, tail }
}
