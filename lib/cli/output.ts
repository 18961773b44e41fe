/** stdout with backpressure; a reader that went away (`| head`) ends the output, not the process. */
export class Output {
  #closed = false
  #whenClosed: () => void = () => {}

  constructor() {
    process.stdout.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error
      this.#closed = true
      this.#whenClosed()
    })
  }

  get closed(): boolean {
    return this.#closed
  }

  /** `action` runs when the reader goes away; it replaces the one before. */
  set whenClosed(action: () => void) {
    this.#whenClosed = action
  }

  /** Resolves when the text may be followed by more. */
  async write(text: string): Promise<void> {
    if (this.#closed || text === '') return
    await new Promise<void>((resolve) => {
      const flowing = process.stdout.write(text, (error) => {
        if (error) resolve()
      })
      if (flowing) resolve()
      else process.stdout.once('drain', resolve)
    })
  }
}
