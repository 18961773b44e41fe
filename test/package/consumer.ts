/** An empty project on a machine that has node, npm and sh and nothing else. */
import { execFile, execFileSync, type ExecFileException } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'

export const root = join(__dirname, '..', '..')

export interface RunResult {
  status: number | null
  stdout: string
  stderr: string
}

export interface Consumer extends Disposable {
  folder: string
  /** Runs a command in the project with the bare PATH, or with the one given. */
  run(command: string, args: readonly string[], environment?: NodeJS.ProcessEnv): Promise<RunResult>
}

function which(name: string): string {
  return realpathSync(execFileSync('which', [name], { encoding: 'utf8' }).trim())
}

export function createConsumer(): Consumer {
  const base = mkdtempSync(join(tmpdir(), 'octavo-consumer-'))
  const [folder, bin] = [join(base, 'project'), join(base, 'bin')]
  mkdirSync(folder)
  mkdirSync(bin)
  symlinkSync(process.execPath, join(bin, 'node'))
  for (const name of ['npm', 'npx', 'sh']) symlinkSync(which(name), join(bin, name))
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'consumer', private: true }))
  return {
    folder,
    run(command, args, environment = {}) {
      const env = { ...bareEnvironment(bin), ...environment }
      return execute(command, args, { cwd: folder, env, maxBuffer: 64 << 20 })
    },
    [Symbol.dispose]() {
      rmSync(base, { recursive: true, force: true })
    },
  }
}

/** Resolves whatever the status; rejects when the command cannot be started. */
function execute(
  command: string,
  args: readonly string[],
  options: { cwd: string; env: NodeJS.ProcessEnv; maxBuffer: number },
): Promise<RunResult> {
  return new Promise((resolve, reject) => {
    const done = (error: ExecFileException | null, stdout: string, stderr: string): void => {
      if (typeof error?.code === 'string') reject(new Error(error.message, { cause: error }))
      else resolve({ status: error === null ? 0 : (error.code ?? null), stdout, stderr })
    }
    execFile(command, args, options, done)
  })
}

/** Nothing that points into this repository: npm hands its settings down to every child. */
function bareEnvironment(bin: string): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(
    ([name]) => !/^(npm_|OCTAVO_|NODE_|LD_)/i.test(name),
  )
  return { ...Object.fromEntries(own), PATH: bin }
}

/** A folder with links to everything on PATH but one tool. */
export function createPathWithout(tool: string, folder: string): string {
  mkdirSync(folder)
  const path = (process.env['PATH'] ?? '').split(delimiter)
  const taken = new Set([tool])
  for (const from of path.filter((entry) => existsSync(entry))) {
    for (const name of readdirSync(from).filter((name) => !taken.has(name))) {
      symlinkSync(join(from, name), join(folder, name))
      taken.add(name)
    }
  }
  return folder
}
