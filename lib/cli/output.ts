/** All that the command writes: stdout, which must arrive, and stderr, which need not. */
import { OctavoError } from '../errors.js'

/** stdout with backpressure; a reader that went away (`| head`) ends the output, not the process. */
class Output {
  #closed = false
  #whenClosed: () => void = () => {}

  constructor() {
    // Every failure reaches the write that met it; without a listener it would also end the process.
    process.stdout.on('error', () => {})
  }

  /** True when the reader went away. */
  get closed(): boolean {
    return this.#closed
  }

  /** `action` runs when the reader goes away; it replaces the one before. */
  set whenClosed(action: () => void) {
    this.#whenClosed = action
  }

  /** Resolves when the text is written, or the reader has gone. Throws OCTAVO_IO_FAILED. */
  async write(text: string): Promise<void> {
    if (this.#closed || text === '') return
    try {
      await new Promise<void>((resolve, reject) => {
        process.stdout.write(text, (error) => (error ? reject(error) : resolve()))
      })
    } catch (cause) {
      const { code, message } = cause as NodeJS.ErrnoException
      if (code !== 'EPIPE') {
        throw new OctavoError('OCTAVO_IO_FAILED', `stdout cannot be written: ${message}`, { cause })
      }
      this.#closed = true
      this.#whenClosed()
    }
  }
}

export const output = new Output()

process.stderr.on('error', () => {})

/** Writes to stderr. A failure there can be told nowhere, and changes nothing. */
export function tell(text: string): void {
  try {
    process.stderr.write(text)
  } catch {
    // Before Node 22 a file's failure is thrown.
  }
}
