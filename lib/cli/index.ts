#!/usr/bin/env node
/** The `octavo` command. */
import { suggest } from '../options/suggest.js'
import { errorJson, exitCodes, exitCodesHelp, report } from './exit.js'
import { output, tell } from './output.js'
import { packageVersion } from './package-version.js'
import { UsageError } from './usage.js'

interface Command {
  run: (argv: string[]) => Promise<number>
}

/** Imported when asked for: `octavo build` must run where there is no addon yet. */
const commands: Record<string, () => Promise<Command>> = {
  generate: () => import('./generate.js'),
  chat: () => import('./chat.js'),
  plan: () => import('./plan.js'),
  bench: () => import('./bench.js'),
  doctor: () => import('./doctor.js'),
  memtrace: () => import('./memtrace.js'),
  build: () => import('./build.js'),
  trace: () => import('./trace.js'),
}

const help = `octavo COMMAND [options]

  generate PROMPT   continue a prompt
  chat              hold a conversation with a chat model
  plan [MODEL]      say in bytes what a model would take
  bench             measure a model on this machine
  doctor            say what is here and whether it works
  memtrace -- CMD   find what a CUDA program never frees
  build             compile the addon from source
  trace             look at a memory snapshot

octavo COMMAND --help tells more. --version prints the version.
${exitCodesHelp}
`

async function main([name, ...argv]: string[]): Promise<number> {
  if (name === '--version' || name === '-v') {
    await output.write(`${packageVersion()}\n`)
    return exitCodes.done
  }
  if (name === undefined) {
    tell(help)
    return exitCodes.usage
  }
  if (name === '--help' || name === '-h' || name === 'help') {
    await output.write(help)
    return exitCodes.done
  }
  const load = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (load !== undefined) return (await load()).run(argv)
  const near = suggest(name, Object.keys(commands))
  const hint = near === null ? 'see octavo --help' : `did you mean ${near}?`
  throw new UsageError(`unknown command '${name}'; ${hint}`, 'OCTAVO_UNKNOWN_OPTION')
}

/** What follows `--` is not for the command. */
function wantsJson(argv: readonly string[]): boolean {
  const end = argv.indexOf('--')
  return (end < 0 ? argv : argv.slice(0, end)).includes('--json')
}

async function fail(error: unknown): Promise<number> {
  const code = report(error)
  if (wantsJson(process.argv)) await output.write(errorJson(error))
  return code
}

main(process.argv.slice(2))
  .catch(fail)
  .then(
    (code) => {
      process.exitCode = code
    },
    () => {
      process.exitCode = exitCodes.failed
    },
  )
