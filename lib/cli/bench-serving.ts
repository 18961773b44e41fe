/** `octavo bench serving`: requests that come as they do in a service. */
import { writeFile } from 'node:fs/promises'
import { poissonArrivals, type Arrival, type Lengths } from '../bench/arrivals.js'
import { servingCsv, servingFigures, type ServingFigures } from '../bench/serving-figures.js'
import { serveArrivals, serveSessions } from '../bench/serving.js'
import type { ServingProgress, ServingRun } from '../bench/serving.js'
import { readTrace, scaleTrace, traceBlockTokens } from '../bench/trace-file.js'
import type { Engine } from '../engine.js'
import { OctavoError } from '../errors.js'
import type { Arguments } from './arguments.js'
import { benchEngineOptions, benchFlags, benchFlagsHelp, lengthsFlag } from './bench-flags.js'
import { countFlag, seedFlag } from './bench-flags.js'
import { benchArguments, runBenchmark, tellProgress } from './bench-run.js'
import { distributionTable, figure } from './bench-table.js'
import { exitCodes, exitCodesHelp } from './exit.js'
import { output } from './output.js'
import { UsageError } from './usage.js'

const help = `octavo bench serving (--rate R | --trace FILE | --sessions N) [options]

Requests come whether or not the engine keeps up, each in a session of its own; figures count from a request's arrival.

      --rate R             R requests a second on average, at times that do not know of each other (Poisson)
      --requests N         so many of them (default 100), or the first N of a trace
      --trace FILE         arrivals and lengths of Azure's CSV or Mooncake's JSON lines
      --time-scale X       its times times X: 0.5 is twice as fast (default 1)
      --length-scale X     its lengths times X (default 1)
      --sessions N         instead of arrivals N callers, each of whom asks again when he was answered
      --duration S         so many seconds, with --sessions (default 60)
      --input N, --output N  tokens in and out, or a range like 16-8192 (default 128 each); not with --trace
      --goal-ttft MS, --goal-itl MS, --goal-e2e MS  what counts as good (default: every answer)
      --csv FILE           write a line a request
${benchFlagsHelp}

${exitCodesHelp}
`

const text = { type: 'string' } as const
const flags = {
  ...benchFlags,
  ...{ rate: text, requests: text, trace: text, 'time-scale': text, 'length-scale': text },
  ...{ sessions: text, duration: text, input: text, output: text, csv: text },
  ...{ 'goal-ttft': text, 'goal-itl': text, 'goal-e2e': text },
}

/** What is asked for: a list of arrivals, or callers for a while. */
type Load =
  | { kind: 'arrivals'; arrivals: Arrival[]; blockTokens: number }
  | { kind: 'sessions'; sessions: number; durationMs: number; input: Lengths; output: Lengths }

const sources = ['rate', 'trace', 'sessions'] as const
const belongs: Record<string, (typeof sources)[number][]> = {
  requests: ['rate', 'trace'],
  'time-scale': ['trace'],
  'length-scale': ['trace'],
  duration: ['sessions'],
  input: ['rate', 'sessions'],
  output: ['rate', 'sessions'],
}

function sourceOf(args: Arguments): (typeof sources)[number] {
  const given = sources.filter((name) => args.text(name) !== undefined)
  const [source, other] = given
  if (source === undefined || other !== undefined) {
    const got = given.length === 0 ? 'none' : given.map((name) => `--${name}`).join(' and ')
    const sentence = `bench serving takes one of --rate, --trace and --sessions, and got ${got}`
    throw new UsageError(sentence)
  }
  for (const [name, owners] of Object.entries(belongs)) {
    if (args.text(name) === undefined || owners.includes(source)) continue
    const sentence = `--${name} belongs to --${owners.join(' and --')}, not to --${source}`
    throw new UsageError(sentence)
  }
  return source
}

const scale = { above: 0, max: 1e6 }

async function loadOf(args: Arguments): Promise<Load> {
  const source = sourceOf(args)
  const input = lengthsFlag(args, 'input', 128)
  const output = lengthsFlag(args, 'output', 128)
  if (source === 'sessions') {
    const sessions = countFlag(args, 'sessions', 1)
    const durationMs = (args.number('duration', { above: 0, max: 1e6 }) ?? 60) * 1000
    return { kind: 'sessions', sessions, durationMs, input, output }
  }
  if (source === 'rate') {
    const rate = args.number('rate', { above: 0, max: 1e6 })!
    const requests = countFlag(args, 'requests', 100)
    const arrivals = poissonArrivals({ rate, requests, input, output, seed: seedFlag(args) })
    return { kind: 'arrivals', arrivals, blockTokens: 1 }
  }
  const time = args.number('time-scale', scale) ?? 1
  const length = args.number('length-scale', scale) ?? 1
  const requests = countFlag(args, 'requests', Number.MAX_SAFE_INTEGER)
  const arrivals = scaleTrace(await readTrace(args.path('trace')!), { time, length, requests })
  const blockTokens = Math.max(1, Math.round(traceBlockTokens * length))
  return { kind: 'arrivals', arrivals, blockTokens }
}

function serve(engine: Engine, load: Load, seed: number, signal: AbortSignal): Promise<ServingRun> {
  const onProgress = (progress: ServingProgress): void => tellServing(progress, load, signal)
  if (load.kind === 'arrivals') {
    const { arrivals, blockTokens } = load
    return serveArrivals(engine, arrivals, { seed, blockTokens, signal, onProgress })
  }
  return serveSessions(engine, { ...load, seed, blockTokens: 1, signal, onProgress })
}

function tellServing(progress: ServingProgress, load: Load, signal: AbortSignal): void {
  const { elapsedMs, requests, arrived, running, done, refused, tokens } = progress
  const seconds = elapsedMs / 1000
  const of = requests === null ? '' : ` of ${requests}`
  const line =
    `${seconds.toFixed(0)} s: ${arrived}${of} came, ${running} run or wait, ${done} done, ${refused} refused, ` +
    `${(tokens / Math.max(seconds, 1e-3)).toFixed(0)} tokens/s`
  const over = load.kind === 'arrivals' ? arrived === requests : elapsedMs >= load.durationMs
  tellProgress(line, running === 0 && (over || signal.aborted))
}

function describe(figures: ServingFigures): string {
  const { requests, completed, cancelled, refused, goodput } = figures
  const codes = Object.entries(refused).map(([code, count]) => `, ${count} ${code}`)
  const share = goodput.share === null ? '–' : `${(goodput.share * 100).toFixed(1)} %`
  const rows = {
    'TTFT ms': figures.ttftMs,
    'ITL ms': figures.itlMs,
    'E2E ms': figures.e2eMs,
    'queue ms': figures.queueMs,
  }
  return (
    `${requests} requests in ${(figures.elapsedMs / 1000).toFixed(2)} s: ${completed} completed` +
    `${cancelled > 0 ? `, ${cancelled} cancelled` : ''}${codes.join('')}\n` +
    `${figures.inputTokens} tokens in (${figures.cachedTokens} cached), ${figures.outputTokens} out, ` +
    `${figure(figures.tokensPerSecond)} tokens/s, ${figure(figures.requestsPerSecond)} requests/s\n` +
    `goodput ${figure(goodput.requestsPerSecond)} requests/s (${share})\n${distributionTable(rows)}`
  )
}

export async function run(argv: readonly string[]): Promise<number> {
  const args = benchArguments(argv, flags, 'serving')
  if (args.has('help')) {
    await output.write(help)
    return exitCodes.done
  }
  const goal = (name: string): number | null => args.number(name, { above: 0 }) ?? null
  const goals = { ttftMs: goal('goal-ttft'), itlMs: goal('goal-itl'), e2eMs: goal('goal-e2e') }
  const csv = args.path('csv')
  const load = await loadOf(args)
  const seed = seedFlag(args)
  return runBenchmark({
    args,
    options: benchEngineOptions(args, load.kind === 'sessions' ? load.sessions : undefined),
    measure: async (engine, signal) => {
      const served = await serve(engine, load, seed, signal)
      if (csv !== undefined) await writeCsv(csv, served)
      return servingFigures(served, goals, signal.aborted)
    },
    describe,
  })
}

async function writeCsv(path: string, served: ServingRun): Promise<void> {
  await writeFile(path, servingCsv(served)).catch((cause: unknown) => {
    const { message } = cause as Error
    throw new OctavoError('OCTAVO_IO_FAILED', `cannot write ${path}: ${message}`, { cause })
  })
}
