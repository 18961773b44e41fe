/** `octavo chat`: a conversation, line by line; the session keeps its KV between the turns. */
import { createInterface, type Interface } from 'node:readline'
import type { Engine } from '../engine.js'
import { OctavoError } from '../errors.js'
import type { Generation } from '../generation.js'
import type { ChatOptions } from '../options/generate-options.js'
import { embeddedModel } from '../load.js'
import type { Session } from '../session.js'
import { loadChatTemplate } from '../text/index.js'
import type { ChatMessage } from '../text/types.js'
import { Arguments, type Flags } from './arguments.js'
import { modelFlag } from './engine-flags.js'
import { exitCodes, exitCodesHelp, report } from './exit.js'
import {
  engineOptions,
  generateOptions,
  generationFlags,
  generationFlagsHelp,
  tellIdleFlags,
} from './generation-flags.js'
import { loadEngine } from './load.js'
import { SnapshotOutput } from './memory-snapshot.js'
import { output } from './output.js'
import { UsageError } from './usage.js'

const help = `octavo chat [options]

Answers one message a line, from a terminal or a pipe; the answers go to stdout, everything else to stderr.
/clear forgets the conversation, /exit (or end of input) ends it. Ctrl-C stops an answer; at the prompt it ends.
A message that is refused is told on stderr; the conversation goes on and ends with exit code 1.

      --system TEXT        the system message
${generationFlagsHelp}
  -h, --help

${exitCodesHelp}
`

const flags: Flags = { ...generationFlags, system: { type: 'string' } }

/** Runs the command; the exit code. */
export async function run(argv: readonly string[]): Promise<number> {
  const args = new Arguments(argv, flags)
  if (args.has('help')) {
    await output.write(help)
    return exitCodes.done
  }
  const [extra] = args.positionals
  if (extra !== undefined) {
    const sentence = `chat takes no argument and got '${extra}'; write the message at the prompt`
    throw new UsageError(sentence)
  }
  const options = generateOptions(args)
  const settings = engineOptions(args)
  const model = modelFlag(args)
  const system = args.text('system')
  const interrupt = new AbortController()
  const abort = (): void => interrupt.abort()
  process.once('SIGINT', abort)
  try {
    await using snapshot = await SnapshotOutput.open(args)
    await requireTemplate(model ?? embeddedModel)
    await using engine = await loadEngine(model, settings, interrupt.signal)
    process.removeListener('SIGINT', abort)
    tellIdleFlags(args, engine.model.generation)
    const code = await new Conversation(engine, options, system).run()
    await snapshot.write(engine)
    return code
  } catch (error) {
    if (error !== interrupt.signal.reason) throw error
    return exitCodes.interrupted
  } finally {
    process.removeListener('SIGINT', abort)
  }
}

/** Told before the weights are read, which may take minutes. */
async function requireTemplate(folder: string): Promise<void> {
  const template = await loadChatTemplate(folder)
  if (template?.problem) throw template.problem
  if (template !== null) return
  const sentence = `${folder} has no chat template; use octavo generate`
  throw new OctavoError('OCTAVO_NO_CHAT_TEMPLATE', sentence)
}

class Conversation {
  readonly #engine: Engine
  readonly #options: ChatOptions
  readonly #opening: readonly ChatMessage[]
  #messages: ChatMessage[]
  #answer: Generation | null = null
  #interrupted = false
  #refused = false

  constructor(engine: Engine, options: ChatOptions, system: string | undefined) {
    this.#engine = engine
    this.#options = options
    this.#opening = system === undefined ? [] : [{ role: 'system', content: system }]
    this.#messages = [...this.#opening]
  }

  async run(): Promise<number> {
    using session = this.#engine.createSession()
    const lines = createInterface({
      input: process.stdin,
      output: process.stderr,
      terminal: process.stdin.isTTY && process.stderr.isTTY,
      prompt: '> ',
    })
    const interrupt = (): void => this.#interrupt(lines)
    lines.on('SIGINT', interrupt)
    process.on('SIGINT', interrupt)
    try {
      await this.#converse(lines, session)
    } finally {
      process.removeListener('SIGINT', interrupt)
      lines.close()
    }
    if (this.#interrupted) return exitCodes.interrupted
    return this.#refused ? exitCodes.failed : exitCodes.done
  }

  /** Stops the answer that is being written; with none, ends the conversation. */
  #interrupt(lines: Interface): void {
    if (this.#answer !== null) {
      void this.#answer.cancel()
      return
    }
    this.#interrupted = true
    lines.close()
  }

  async #converse(lines: Interface, session: Session): Promise<void> {
    const prompt = (): void => {
      if (lines.terminal) lines.prompt()
    }
    prompt()
    for await (const line of lines) {
      if (line.trim() === '/exit') return
      if (line.trim() === '/clear') this.#messages = [...this.#opening]
      else if (line.trim() !== '') await this.#reply(session, line)
      if (output.closed) return
      prompt()
    }
  }

  /**
   * A message that is refused (too long for the context) is told and taken back; the conversation goes on, and ends
   * with the exit code of a failure.
   */
  async #reply(session: Session, content: string): Promise<void> {
    const messages = [...this.#messages, { role: 'user', content }]
    try {
      this.#answer = session.chat(messages, this.#options)
      output.whenClosed = () => void this.#answer?.cancel()
      for await (const { text } of this.#answer) await output.write(text)
      await output.write('\n')
      const { text } = await this.#answer.result
      this.#messages = [...messages, { role: 'assistant', content: text }]
    } catch (error) {
      if (!(error instanceof OctavoError) || error.code !== 'OCTAVO_CONTEXT_EXCEEDED') throw error
      report(error)
      this.#refused = true
    } finally {
      this.#answer = null
    }
  }
}
