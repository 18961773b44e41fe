/** Reading a model's files: bounded, abortable, and with errors that name the file. */
import { constants } from 'node:fs'
import { open, readdir, stat, type FileHandle } from 'node:fs/promises'
import { basename } from 'node:path'
import { OctavoError, type ErrorCode } from './errors.js'

/** Throws OCTAVO_CANCELLED once `signal` is aborted. */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (!signal?.aborted) return
  const options = { cause: signal.reason as unknown }
  throw new OctavoError('OCTAVO_CANCELLED', 'opening the checkpoint was cancelled', options)
}

/** OCTAVO_IO_FAILED for whatever the file system threw; an OctavoError passes as it is. */
export function ioFailed(path: string, error: unknown): OctavoError {
  if (error instanceof OctavoError) return error
  const { code, message } = error as NodeJS.ErrnoException
  const reasons: Record<string, string> = {
    ENOENT: 'it does not exist',
    EACCES: 'permission denied',
    ENOTDIR: 'a part of the path is not a folder',
    EISDIR: 'it is a folder',
    EMFILE: 'too many files are open',
  }
  const reason = reasons[code ?? ''] ?? message
  return new OctavoError('OCTAVO_IO_FAILED', `cannot read ${path}: ${reason}`, { cause: error })
}

/** Names in a folder, sorted. Throws OCTAVO_IO_FAILED when there is no such folder. */
export async function listFolder(folder: string): Promise<string[]> {
  const found = await stat(folder).catch((error: unknown) => {
    throw ioFailed(folder, error)
  })
  if (!found.isDirectory()) {
    const problem = `${folder} is a file; give the folder that holds config.json and *.safetensors`
    throw new OctavoError('OCTAVO_IO_FAILED', problem)
  }
  const names = await readdir(folder).catch((error: unknown) => {
    throw ioFailed(folder, error)
  })
  return names.sort()
}

/**
 * Runs `work` on an opened regular file and closes it. Links are followed (a hub cache is made of
 * them); a pipe or device is refused, since opening one may wait for ever.
 */
export async function withFile<T>(
  path: string,
  signal: AbortSignal | undefined,
  work: (handle: FileHandle, bytes: number) => Promise<T>,
): Promise<T> {
  throwIfAborted(signal)
  try {
    const handle = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
    try {
      const found = await handle.stat()
      if (!found.isFile()) {
        throw new OctavoError('OCTAVO_IO_FAILED', `cannot read ${path}: it is not a regular file`)
      }
      return await work(handle, found.size)
    } finally {
      await handle.close()
    }
  } catch (error) {
    throw ioFailed(path, error)
  }
}

/** Exactly `bytes` bytes from `position`, in pieces so that an abort is noticed. */
export async function readRange(
  handle: FileHandle,
  position: number,
  bytes: number,
  signal: AbortSignal | undefined,
): Promise<Buffer> {
  const pieceBytes = 8 * 1024 * 1024
  const buffer = Buffer.allocUnsafe(bytes)
  let done = 0
  while (done < bytes) {
    throwIfAborted(signal)
    const wanted = Math.min(pieceBytes, bytes - done)
    const { bytesRead } = await handle.read(buffer, done, wanted, position + done)
    if (bytesRead === 0) break
    done += bytesRead
  }
  return buffer.subarray(0, done)
}

/** Larger than any published index (about 15 MB for 145,000 tensors) and any tokenizer (about 35 MB). */
const largestFileBytes = 100_000_000

/** A whole file of JSON or text. Throws OCTAVO_IO_FAILED, OCTAVO_CANCELLED, and `code` for one that is too large. */
export async function readBounded(
  path: string,
  code: ErrorCode,
  signal?: AbortSignal,
): Promise<Buffer> {
  return withFile(path, signal, async (handle, size) => {
    if (size <= largestFileBytes) return readRange(handle, 0, size, signal)
    const problem = `${basename(path)} has ${size} bytes; at most ${largestFileBytes} are read`
    throw new OctavoError(code, problem)
  })
}
