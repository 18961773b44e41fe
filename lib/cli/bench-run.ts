/** What every `octavo bench` does around its measurement: load, be interruptible, print, and tell the device. */
import '../polyfill.js'
import type { Engine } from '../engine.js'
import type { Model } from '../model.js'
import type { EngineOptions } from '../options/engine-options.js'
import { Arguments, type Flags } from './arguments.js'
import { modelFlag } from './engine-flags.js'
import { exitCodes, interruptedJson } from './exit.js'
import { loadEngine } from './load.js'
import { output, tell } from './output.js'
import { UsageError } from './usage.js'

/** What was measured on what. */
export interface Setting {
  model: string
  parameters: number
  loadFormat: Model['loadFormat']
  quantization: Model['quantization']
  dtype: string
  device: string
  maxSequences: number
  maxBatchTokens: number
  loadMs: number
}

export interface Benchmark<Figures extends { interrupted: boolean }> {
  args: Arguments
  options: EngineOptions
  /** Partial figures after an abort. */
  measure: (engine: Engine, signal: AbortSignal) => Promise<Figures>
  /** For people. */
  describe: (figures: Figures) => string
}

/** Flags only: a stray word is refused by the name of the command. */
export function benchArguments(argv: readonly string[], flags: Flags, command: string): Arguments {
  const args = new Arguments(argv, flags)
  const [stray] = args.positionals
  if (stray === undefined || args.has('help')) return args
  const sentence = `bench ${command} takes options alone and got '${stray}'; the model is --model FOLDER`
  throw new UsageError(sentence)
}

/** The exit code. The first Ctrl-C stops the run and prints what there is; a second one ends the process. */
export async function runBenchmark<Figures extends { interrupted: boolean }>(
  benchmark: Benchmark<Figures>,
): Promise<number> {
  const { args, options, measure, describe } = benchmark
  const interrupt = new AbortController()
  const abort = (): void => interrupt.abort()
  process.once('SIGINT', abort)
  output.whenClosed = abort
  try {
    const began = performance.now()
    await using engine = await loadEngine(modelFlag(args), options, interrupt.signal)
    const loadMs = performance.now() - began
    const figures = await measure(engine, interrupt.signal)
    const setting = settingOf(engine, loadMs)
    const json = `${JSON.stringify({ ...setting, ...figures }, null, 2)}\n`
    await output.write(args.has('json') ? json : heading(setting) + describe(figures))
  } catch (error) {
    if (error !== interrupt.signal.reason) throw error
    if (args.has('json')) await output.write(interruptedJson())
  } finally {
    process.removeListener('SIGINT', abort)
  }
  return interrupt.signal.aborted ? exitCodes.interrupted : exitCodes.done
}

function settingOf(engine: Engine, loadMs: number): Setting {
  const { folder, parameters, loadFormat, quantization } = engine.model
  const { dtype, maxSequences, maxBatchTokens } = engine.plan()
  const model = { model: folder, parameters, loadFormat, quantization, dtype }
  return { ...model, device: engine.device, maxSequences, maxBatchTokens, loadMs }
}

function heading(setting: Setting): string {
  const { model, loadFormat, dtype, device, maxSequences, maxBatchTokens, loadMs } = setting
  const weights = loadFormat === 'dummy' ? ', dummy weights' : ''
  const limits = `${maxSequences} sequences, ${maxBatchTokens} tokens a step`
  return `${model} on ${device}, ${dtype}${weights}; ${limits}; loaded in ${(loadMs / 1000).toFixed(2)} s\n\n`
}

/** A line on stderr that replaces the last one on a terminal; elsewhere only the last one is told. */
export function tellProgress(line: string, isLast: boolean): void {
  if (process.stderr.isTTY) tell(`\r\u001b[K${line}${isLast ? '\n' : ''}`)
  else if (isLast) tell(`${line}\n`)
}
