/** `octavo bench throughput` and `octavo bench host`: a fixed batch that decodes, seen from two sides. */
import { measureThroughput, type ThroughputFigures } from '../bench/throughput.js'
import { benchEngineOptions, benchFlags, benchFlagsHelp, countFlag } from './bench-flags.js'
import { seedFlag, timesFlag } from './bench-flags.js'
import { benchArguments, runBenchmark, tellProgress } from './bench-run.js'
import { figure } from './bench-table.js'
import { exitCodes, exitCodesHelp } from './exit.js'
import { output } from './output.js'

const about = {
  throughput: `A fixed batch of requests that begin together. Tokens a second from the moment when the last of them has its first
token until the first one ends: all of them decode then.`,
  host: `A fixed batch that decodes: microseconds that the engine's thread spends on a step, by stage. The device's work (wait)
is no part of the total; on the CPU the computing is the launch.`,
}

export type BatchCommand = keyof typeof about

const helpOf = (command: BatchCommand): string => `octavo bench ${command} [options]

${about[command]}

      --batch N            requests at once (default ${command === 'host' ? 1 : 8})
      --input N            tokens of each prompt (default 128)
      --output N           steps in which all decode (default 128)
      --warm-up N          runs that are not counted (default 1)
      --repeats N          runs that are (default 3)
${benchFlagsHelp}

${exitCodesHelp}
`

const text = { type: 'string' } as const
const shapeFlags = { batch: text, input: text, output: text, 'warm-up': text, repeats: text }

function title({ batch, inputTokens, outputTokens, runs }: ThroughputFigures): string {
  const count = `${runs.length} ${runs.length === 1 ? 'run' : 'runs'}`
  return `batch ${batch}, ${inputTokens} tokens in, the next ${outputTokens} out, ${count}\n`
}

const describe: Record<BatchCommand, (figures: ThroughputFigures) => string> = {
  throughput: (figures) =>
    `${title(figures)}` +
    `decode       ${figure(figures.tokensPerSecond)} tokens/s (median of the runs)\n` +
    `step         ${figure(figures.stepMs)} ms\n` +
    `first token  ${figure(figures.ttftMs)} ms (median of the batch)\n`,
  host: (figures) => {
    const stages = Object.entries<number>({ ...figures.host })
    const rows = stages.map(
      ([name, us]) => `${name.padEnd(8)}${figure(us).padStart(12)} µs a step\n`,
    )
    return `${title(figures)}${rows.join('')}`
  },
}

/** Runs one of the two; the exit code. */
export async function runBatchCommand(
  command: BatchCommand,
  argv: readonly string[],
): Promise<number> {
  const args = benchArguments(argv, { ...benchFlags, ...shapeFlags }, command)
  if (args.has('help')) {
    await output.write(helpOf(command))
    return exitCodes.done
  }
  const shape = {
    batch: countFlag(args, 'batch', command === 'host' ? 1 : 8),
    inputTokens: countFlag(args, 'input', 128),
    outputTokens: countFlag(args, 'output', 128),
    warmUp: timesFlag(args, 'warm-up', 1),
    repeats: countFlag(args, 'repeats', 3),
    seed: seedFlag(args),
  }
  const onRun = (done: number, all: number): void =>
    tellProgress(`run ${done} of ${all}`, done === all)
  return runBenchmark({
    args,
    options: benchEngineOptions(args, shape.batch),
    measure: (engine, signal) => measureThroughput(engine, { ...shape, signal, onRun }),
    describe: describe[command],
  })
}
