/** Runs the compiled `octavo` command as a user's shell would. */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { join } from 'node:path'

export const command = join(__dirname, '..', '..', '..', 'dist', 'cli', 'index.js')

export interface Ending {
  code: number | null
  signal: NodeJS.Signals | null
  stdout: string
  stderr: string
}

export class Command {
  readonly child: ChildProcessWithoutNullStreams
  readonly ending: Promise<Ending>
  stdout = ''
  stderr = ''

  constructor(...argv: string[]) {
    this.child = spawn(process.execPath, [command, ...argv], { env: process.env })
    this.child.stdout.setEncoding('utf8').on('data', (text: string) => (this.stdout += text))
    this.child.stderr.setEncoding('utf8').on('data', (text: string) => (this.stderr += text))
    this.child.stdin.on('error', () => {})
    const timer = setTimeout(() => this.child.kill('SIGKILL'), 600_000)
    this.ending = new Promise((resolve, reject) => {
      this.child.on('error', reject)
      this.child.on('close', (code, signal) => {
        clearTimeout(timer)
        resolve({ code, signal, stdout: this.stdout, stderr: this.stderr })
      })
    })
  }

  /** Resolves when `holds` is true of stdout, or the command has ended. */
  async until(holds: (stdout: string) => boolean): Promise<void> {
    let ended = false
    void this.ending.then(() => (ended = true))
    while (!holds(this.stdout) && !ended) {
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
  }
}

/** Runs to the end, with nothing on stdin. */
export function octavo(...argv: string[]): Promise<Ending> {
  const run = new Command(...argv)
  run.child.stdin.end()
  return run.ending
}
