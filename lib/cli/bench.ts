/** `octavo bench`: measures a model, or the shape of one, on this machine. */
import { suggest } from '../options/suggest.js'
import { exitCodes, exitCodesHelp } from './exit.js'
import { output, tell } from './output.js'
import { UsageError } from './usage.js'

const commands: Record<string, (argv: readonly string[]) => Promise<number>> = {
  latency: async (argv) => (await import('./bench-latency.js')).run(argv),
  throughput: async (argv) =>
    (await import('./bench-batch.js')).runBatchCommand('throughput', argv),
  serving: async (argv) => (await import('./bench-serving.js')).run(argv),
  host: async (argv) => (await import('./bench-batch.js')).runBatchCommand('host', argv),
}

const help = `octavo bench COMMAND [options]

  latency      one request at a time: first token, between tokens, to the end
  throughput   a fixed batch: tokens a second while all decode
  serving      requests as they come in a service: Poisson, a trace, or callers that ask again
  host         microseconds that a step costs the host, by stage

octavo bench COMMAND --help tells more. --load-format dummy measures a folder that has config.json alone.

${exitCodesHelp}
`

/** Runs the command; the exit code. */
export async function run([name, ...argv]: readonly string[]): Promise<number> {
  if (name === undefined) {
    tell(help)
    return exitCodes.usage
  }
  if (name === '--help' || name === '-h' || name === 'help') {
    await output.write(help)
    return exitCodes.done
  }
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (command !== undefined) return command(argv)
  const near = suggest(name, Object.keys(commands))
  const hint = near === null ? 'see octavo bench --help' : `did you mean ${near}?`
  throw new UsageError(`unknown command 'bench ${name}'; ${hint}`, 'OCTAVO_UNKNOWN_OPTION')
}
