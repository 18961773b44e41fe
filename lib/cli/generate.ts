/** `octavo generate PROMPT`: the generated text alone on stdout. */
import type { Engine } from '../engine.js'
import type { Generation } from '../generation.js'
import type { GenerationResult } from '../runtime/result.js'
import { ranges } from '../options/generate-settings.js'
import { Arguments, type Flags } from './arguments.js'
import { modelFlag } from './engine-flags.js'
import { exitCodes, exitCodesHelp, interruptedJson } from './exit.js'
import {
  engineOptions,
  generateOptions,
  generationFlags,
  generationFlagsHelp,
  tellIdleFlags,
} from './generation-flags.js'
import { loadEngine } from './load.js'
import { SnapshotOutput } from './memory-snapshot.js'
import { output, tell } from './output.js'
import { UsageError } from './usage.js'

const help = `octavo generate [options] PROMPT

Continues PROMPT and writes the text to stdout as it comes; everything else goes to stderr.

${generationFlagsHelp}
      --samples N          samples of PROMPT, 1 to 256 (default 1), of seed, seed + 1 …; several are written at the end
      --json               write one JSON object with text, tokens, usage and timings at the end instead; one a line of several
  -h, --help

${exitCodesHelp}
`

const flags: Flags = { ...generationFlags, samples: { type: 'string' }, json: { type: 'boolean' } }

function onePrompt(args: Arguments): string {
  const [prompt, ...more] = args.positionals
  if (prompt !== undefined && more.length === 0) return prompt
  const count = args.positionals.length
  throw new UsageError(
    `generate takes one PROMPT and got ${count}; quote a prompt of several words (see --help)`,
  )
}

/** Runs the command; the exit code. The first Ctrl-C stops cleanly, a second one ends the process. */
export async function run(argv: readonly string[]): Promise<number> {
  const args = new Arguments(argv, flags)
  if (args.has('help')) {
    await output.write(help)
    return exitCodes.done
  }
  const prompt = onePrompt(args)
  const n = args.integer('samples', ranges.n) ?? 1
  const options = { ...generateOptions(args), n }
  const settings = { ...engineOptions(args), maxSequences: n }
  const model = modelFlag(args)
  const interrupt = new AbortController()
  const abort = (): void => interrupt.abort()
  process.once('SIGINT', abort)
  try {
    await using snapshot = await SnapshotOutput.open(args)
    await using engine = await loadEngine(model, settings, interrupt.signal)
    tellIdleFlags(args, engine.model.generation)
    using session = engine.createSession()
    const generation = session.generate(prompt, options)
    whenAborted(interrupt.signal, () => void generation.cancel())
    if (args.has('json')) await writeJson(generation, engine)
    else if (n > 1) await writeSamples(generation)
    else await stream(generation)
    await snapshot.write(engine)
  } catch (error) {
    if (error !== interrupt.signal.reason) throw error
    if (args.has('json')) await output.write(interruptedJson())
  } finally {
    process.removeListener('SIGINT', abort)
  }
  return interrupt.signal.aborted ? exitCodes.interrupted : exitCodes.done
}

/** At once where Ctrl-C came in the last moment of the load, which did not see it. */
function whenAborted(signal: AbortSignal, action: () => void): void {
  if (signal.aborted) action()
  else signal.addEventListener('abort', action)
}

async function stream(generation: Generation): Promise<void> {
  output.whenClosed = () => void generation.cancel()
  for await (const { text } of generation) await output.write(text)
  await output.write('\n')
  if (!output.closed) tellUsage(await generation.result)
}

async function writeJson(generation: Generation, { model, device }: Engine): Promise<void> {
  for (const result of await generation.results) {
    await output.write(`${JSON.stringify({ model: model.folder, device, ...result })}\n`)
  }
}

/** They are made side by side, and can only be read one after the other. */
async function writeSamples(generation: Generation): Promise<void> {
  for (const result of await generation.results) {
    await output.write(`--- sample ${result.index}\n${result.text}\n`)
    tellUsage(result)
  }
}

function tellUsage({ usage, timings, finishReason }: GenerationResult): void {
  const { promptTokens, completionTokens } = usage
  const rate = timings.tokensPerSecond.toFixed(timings.tokensPerSecond < 100 ? 1 : 0)
  const first =
    timings.firstTokenMs === null ? 'no token' : `first after ${timings.firstTokenMs.toFixed(1)} ms`
  tell(
    `octavo: ${promptTokens} tokens in, ${completionTokens} out (${finishReason}), ${first}, ${rate} tokens/s\n`,
  )
}
