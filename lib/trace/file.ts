/** Snapshots on disk: written in pieces, read and checked. */
import { open, readFile, type FileHandle } from 'node:fs/promises'
import { OctavoError } from '../errors.js'
import type { MemorySnapshot } from './snapshot.js'

const eventsAPiece = 10_000

/** The snapshot's JSON, in pieces that no string limit can meet. */
export function* snapshotJson(snapshot: MemorySnapshot): Generator<string> {
  const { events, ...rest } = snapshot
  yield `${JSON.stringify(rest).slice(0, -1)},"events":[`
  for (let at = 0; at < events.length; at += eventsAPiece) {
    const piece = JSON.stringify(events.slice(at, at + eventsAPiece)).slice(1, -1)
    yield at === 0 ? piece : `,${piece}`
  }
  yield ']}\n'
}

const cannot = (doing: string, path: string, cause: unknown): OctavoError =>
  new OctavoError('OCTAVO_IO_FAILED', `${path} cannot be ${doing}: ${(cause as Error).message}`, {
    cause,
  })

/** A file that is made before there is anything to write, so that a wrong path is told at once. */
export class OutputFile {
  readonly path: string
  readonly #handle: FileHandle

  private constructor(path: string, handle: FileHandle) {
    this.path = path
    this.#handle = handle
  }

  /** Throws OCTAVO_IO_FAILED. */
  static async make(path: string): Promise<OutputFile> {
    try {
      return new OutputFile(path, await open(path, 'w'))
    } catch (cause) {
      throw cannot('written', path, cause)
    }
  }

  /** Writes all and closes; the bytes. Throws OCTAVO_IO_FAILED. */
  async write(pieces: Iterable<string | Uint8Array>): Promise<number> {
    let bytes = 0
    try {
      for (const piece of pieces) {
        const data = typeof piece === 'string' ? Buffer.from(piece) : piece
        await this.#handle.writeFile(data)
        bytes += data.length
      }
      await this.close()
    } catch (cause) {
      await this.close().catch(() => {})
      throw cannot('written', this.path, cause)
    }
    return bytes
  }

  async close(): Promise<void> {
    await this.#handle.close()
  }
}

/** Throws OCTAVO_IO_FAILED, also where the file is longer than a string can be. */
export async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (cause) {
    throw cannot('read', path, cause)
  }
}
