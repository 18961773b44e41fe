/** Exit codes, and how an error is told. */
import { OctavoError } from '../errors.js'
import { tell } from './output.js'
import { isUsageError } from './usage.js'

export const exitCodes = {
  done: 0,
  /** Something was refused or failed: the message names the code. */
  failed: 1,
  /** The command line is wrong: a UsageError, or no command. */
  usage: 2,
  /** Ctrl-C. */
  interrupted: 130,
} as const

export const exitCodesHelp = `Exit codes: 0 done · 1 failed · 2 wrong command line · 130 interrupted (Ctrl-C)`

/** What `--json` has on stdout when there is no result. */
export function errorJson(error: unknown): string {
  const code = error instanceof OctavoError ? error.code : null
  const message = error instanceof Error ? error.message : String(error)
  return `${JSON.stringify({ error: { code, message } })}\n`
}

/** What `--json` has on stdout when Ctrl-C came before there was a result. */
export const interruptedJson = (): string =>
  errorJson(new OctavoError('OCTAVO_CANCELLED', 'interrupted (Ctrl-C) before there was a result'))

/** Tells the error on stderr, a bug of ours with its stack; the exit code. */
export function report(error: unknown): number {
  if (!(error instanceof OctavoError)) {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
    tell(`octavo: ${text}\n`)
    return exitCodes.failed
  }
  tell(`octavo: ${error.message} (${error.code})\n`)
  return isUsageError(error) ? exitCodes.usage : exitCodes.failed
}
