/** What a build says on stderr: our own lines, the compilers' complaints, and how far it is. */
import { tell } from './output.js'

/** Without a terminal, progress is told this often. */
const quietMilliseconds = 20_000

/** Talk of cmake, ninja, make and node-gyp; what is left are the compilers' complaints. */
const noise = /^(-- |ninja: |gyp (info|http)|make(\[\d+\])?: |\s+(CXX|SOLINK|COPY|TOUCH)|\s*$)/

export class BuildOutput {
  readonly #verbose: boolean
  readonly #terminal = process.stderr.isTTY
  #lastTold = performance.now()
  #lineOpen = false

  constructor(verbose: boolean) {
    this.#verbose = verbose
  }

  /** One line of a tool's output. */
  readonly take = (line: string): void => {
    const ours = /^-- octavo: (.*)/.exec(line)?.[1]
    const step = /^\[\s*(\d+\/\d+|\d+%)\]/.exec(line)?.[1]
    if (this.#verbose) this.#write(`${line}\n`)
    else if (ours !== undefined) this.say(ours)
    else if (step !== undefined) this.#tellStep(step)
    else if (!noise.test(line)) this.#write(`${line}\n`)
  }

  say(sentence: string): void {
    this.#write(`octavo: ${sentence}\n`)
  }

  #tellStep(step: string): void {
    if (this.#terminal) {
      tell(`\r\x1b[2Koctavo: compiling ${step}`)
      this.#lineOpen = true
    } else if (performance.now() - this.#lastTold > quietMilliseconds) {
      this.#lastTold = performance.now()
      this.say(`compiling ${step}`)
    }
  }

  #write(text: string): void {
    if (this.#lineOpen) tell('\r\x1b[2K')
    this.#lineOpen = false
    tell(text)
  }
}
