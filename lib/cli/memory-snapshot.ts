/** `--memory-snapshot FILE` and `--memory-trace LEVEL` of the commands that load an engine. */
import '../polyfill.js'
import type { Engine } from '../engine.js'
import type { TraceLevel } from '../options/trace-options.js'
import { OutputFile, snapshotJson } from '../trace/file.js'
import type { Arguments, Flags } from './arguments.js'
import { formatBytes } from './format.js'
import { tell } from './output.js'

export const snapshotFlags: Flags = {
  'memory-snapshot': { type: 'string' },
  'memory-trace': { type: 'string' },
}

export const snapshotFlagsHelp = `      --memory-snapshot FILE
                           write a memory snapshot at the end (see octavo trace)
      --memory-trace LEVEL what is traced for it: 0, 1, 2 (default with --memory-snapshot) or 3`

/** The trace level that the flags ask for. */
export function traceLevel(args: Arguments): TraceLevel {
  const level = args.integer('memory-trace', { min: 0, max: 3 })
  return (level ?? (args.text('memory-snapshot') === undefined ? 0 : 2)) as TraceLevel
}

/** Where the snapshot goes: opened before the load, written at the end. */
export class SnapshotOutput {
  readonly #file: OutputFile | null
  #written = false

  private constructor(file: OutputFile | null) {
    this.#file = file
  }

  /** Throws OCTAVO_IO_FAILED. */
  static async open(args: Arguments): Promise<SnapshotOutput> {
    const path = args.path('memory-snapshot')
    return new SnapshotOutput(path === undefined ? null : await OutputFile.make(path))
  }

  /** Once; nothing without the flag. */
  async write(engine: Engine): Promise<void> {
    if (this.#file === null || this.#written) return
    this.#written = true
    const bytes = await this.#file.write(snapshotJson(engine.memorySnapshot()))
    tell(`octavo: ${this.#file.path}, ${formatBytes(bytes)}\n`)
  }

  /** Closes what was not written: the load or the generation failed. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#written) await this.#file?.close()
  }
}
