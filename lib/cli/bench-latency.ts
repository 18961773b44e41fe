/** `octavo bench latency`: one request at a time. */
import { measureLatency, type LatencyFigures } from '../bench/latency.js'
import { benchEngineOptions, benchFlags, benchFlagsHelp, countFlag } from './bench-flags.js'
import { seedFlag, timesFlag } from './bench-flags.js'
import { benchArguments, runBenchmark, tellProgress } from './bench-run.js'
import { distributionTable, figure } from './bench-table.js'
import { exitCodes, exitCodesHelp } from './exit.js'
import { output } from './output.js'

const help = `octavo bench latency [options]

One request at a time: time to the first token (TTFT), between tokens (ITL) and to the end (E2E), in milliseconds.

      --input N            tokens of the prompt (default 128)
      --output N           tokens to produce (default 128)
      --warm-up N          runs that are not counted (default 2)
      --repeats N          runs that are (default 5)
${benchFlagsHelp}

${exitCodesHelp}
`

const text = { type: 'string' } as const
const flags = { ...benchFlags, input: text, output: text, 'warm-up': text, repeats: text }

function describe(figures: LatencyFigures): string {
  const { inputTokens, outputTokens, runs, ttftMs, itlMs, e2eMs, tokensPerSecond } = figures
  const title = `${inputTokens} tokens in, ${outputTokens} out, ${runs} runs\n`
  const table = distributionTable({ 'TTFT ms': ttftMs, 'ITL ms': itlMs, 'E2E ms': e2eMs })
  return `${title}${table}decode: ${figure(tokensPerSecond)} tokens/s (median of the runs)\n`
}

export async function run(argv: readonly string[]): Promise<number> {
  const args = benchArguments(argv, flags, 'latency')
  if (args.has('help')) {
    await output.write(help)
    return exitCodes.done
  }
  const shape = {
    inputTokens: countFlag(args, 'input', 128),
    outputTokens: countFlag(args, 'output', 128),
    warmUp: timesFlag(args, 'warm-up', 2),
    repeats: countFlag(args, 'repeats', 5),
    seed: seedFlag(args),
  }
  const onRun = (done: number, all: number): void =>
    tellProgress(`run ${done} of ${all}`, done === all)
  return runBenchmark({
    args,
    options: benchEngineOptions(args, 1),
    measure: (engine, signal) => measureLatency(engine, { ...shape, signal, onRun }),
    describe,
  })
}
