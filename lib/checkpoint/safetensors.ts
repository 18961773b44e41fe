/** A safetensors file: 8 bytes of header length (little endian), the JSON header, the data. */
import type { FileHandle } from 'node:fs/promises'
import { OctavoError } from '../errors.js'
import { readRange, withFile } from '../disk.js'
import { parseHeader, type TensorInfo } from './header.js'
import { decodeUtf8 } from './json.js'

/** The limit of the reference implementation. */
export const largestHeaderBytes = 100_000_000

const lengthBytes = 8

/**
 * Tensors of a file, by offset; `name` is how messages call it. Reads the header only.
 * Throws OCTAVO_CHECKPOINT_INVALID, OCTAVO_IO_FAILED, OCTAVO_CANCELLED.
 */
export async function readSafetensors(
  path: string,
  name: string,
  signal?: AbortSignal,
): Promise<TensorInfo[]> {
  return withFile(path, signal, async (handle, fileBytes) => {
    const headerBytes = await readHeaderLength(handle, name, fileBytes, signal)
    const header = await readRange(handle, lengthBytes, headerBytes, signal)
    if (header.length < headerBytes) throw broken(name, 'it became shorter while being read')
    const text = decodeUtf8(`the header of ${name}`, header)
    return parseHeader(name, text, lengthBytes + headerBytes, fileBytes)
  })
}

async function readHeaderLength(
  handle: FileHandle,
  name: string,
  fileBytes: number,
  signal: AbortSignal | undefined,
): Promise<number> {
  if (fileBytes < lengthBytes)
    throw broken(name, `it has ${fileBytes} bytes, a header needs more than 8`)
  const first = await readRange(handle, 0, Math.min(fileBytes, 64), signal)
  if (first.toString('latin1').startsWith('version https://git-lfs')) {
    throw broken(name, 'it is a Git LFS pointer, not the weights; run "git lfs pull" in its folder')
  }
  const bytes = first.readBigUInt64LE(0)
  if (bytes > largestHeaderBytes) {
    const problem = `its header claims ${bytes} bytes, at most ${largestHeaderBytes} are allowed`
    throw broken(name, `${problem}; is it a safetensors file?`)
  }
  const room = fileBytes - lengthBytes
  if (bytes > room) {
    const problem = `its header claims ${bytes} bytes, but only ${room} follow`
    throw broken(name, `${problem}; it may be an incomplete download`)
  }
  return Number(bytes)
}

function broken(name: string, problem: string): OctavoError {
  return new OctavoError('OCTAVO_CHECKPOINT_INVALID', `${name} is broken: ${problem}`)
}
