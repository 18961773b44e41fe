/** `octavo bench` as a shell runs it, small, on the CPU. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { LatencyFigures } from '../../../lib/bench/latency.js'
import type { ServingFigures } from '../../../lib/bench/serving-figures.js'
import type { ThroughputFigures } from '../../../lib/bench/throughput.js'
import { Command, octavo } from './command.js'

const cpu = ['-d', 'cpu', '--threads', '2', '--kv', '8MiB']
const bench = (...argv: string[]): ReturnType<typeof octavo> => octavo('bench', ...argv, ...cpu)

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'octavo-bench-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

async function json<Figures>(...argv: string[]): Promise<Figures & Record<string, unknown>> {
  const { code, stdout, stderr } = await bench(...argv, '--json')
  expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' })
  return JSON.parse(stdout) as Figures & Record<string, unknown>
}

test('latency: every run has a first token, gaps and an end', async () => {
  const sizes = ['--input', '20', '--output', '9', '--warm-up', '1', '--repeats', '3']
  const figures = await json<LatencyFigures>('latency', ...sizes)
  expect(figures).toMatchObject({
    ...{ inputTokens: 20, outputTokens: 9, runs: 3, interrupted: false },
    ...{ device: 'cpu', loadFormat: 'files', maxSequences: 1, parameters: 260_032 },
    ttftMs: { count: 3 },
    itlMs: { count: 24 },
    e2eMs: { count: 3 },
  })
  const { ttftMs, e2eMs, tokensPerSecond } = figures
  expect(e2eMs!.min).toBeGreaterThan(ttftMs!.min)
  expect(tokensPerSecond).toBeGreaterThan(0)
  const { stdout, stderr } = await bench('latency', ...sizes)
  expect(stdout).toMatch(/stories260k on cpu, fp32; 1 sequences.*\n\n20 tokens in, 9 out, 3 runs\n/)
  expect(stdout).toMatch(/^TTFT ms +3( +[\d.]+){5}\nITL ms +24( +[\d.]+){5}\nE2E ms +3/m)
  expect(stdout).toMatch(/decode: [\d.]+ tokens\/s \(median of the runs\)\n$/)
  expect(stderr).toMatch(/run 4 of 4\n$/)
})

test('throughput: all of a batch decode in every step that counts', async () => {
  const sizes = ['--batch', '5', '--input', '30', '--output', '300', '--batch-tokens', '64']
  const figures = await json<ThroughputFigures>('throughput', ...sizes, '--repeats', '2')
  expect(figures.runs).toHaveLength(2)
  for (const { tokens, stepMs, steadyMs, tokensPerSecond } of figures.runs) {
    expect(tokens).toBeGreaterThanOrEqual(0)
    expect(tokens).toBeLessThan(5 * 512)
    expect(tokensPerSecond * steadyMs).toBeCloseTo(tokens * 1000, 3)
    expect(stepMs * tokens).toBeCloseTo(steadyMs * 5, 3)
  }
  const stages = ['plan', 'upload', 'launch', 'book', 'tell', 'total', 'wait']
  expect(Object.keys(figures.host!)).toEqual(stages)
  const table = await bench('throughput', ...sizes, '--repeats', '1', '--warm-up', '0')
  expect(table.stdout).toMatch(/batch 5, 30 tokens in, the next 300 out, 1 run\ndecode +[\d.]+ tok/)
})

test('host: microseconds by stage', async () => {
  const { code, stdout } = await bench('host', '--output', '16', '--repeats', '1')
  expect(code).toBe(0)
  for (const stage of ['plan', 'upload', 'launch', 'book', 'tell', 'total', 'wait']) {
    expect(stdout).toMatch(new RegExp(`^${stage} +[\\d.]+ µs a step$`, 'm'))
  }
})

test('serving: Poisson arrivals, figures and rows', async () => {
  const csv = join(folder, 'rows.csv')
  const load = ['--rate', '200', '--requests', '12', '--input', '4-40', '--output', '3-9']
  const figures = await json<ServingFigures>('serving', ...load, '--csv', csv, '--goal-e2e', '1e6')
  expect(figures).toMatchObject({ requests: 12, completed: 12, refused: {}, cancelled: 0 })
  expect(figures.goodput.share).toBe(1)
  expect(figures.ttftMs!.count).toBe(12)
  const [head, ...rows] = readFileSync(csv, 'utf8').trim().split('\n')
  expect(head).toMatch(/^arrivalMs,inputTokens/)
  expect(rows).toHaveLength(12)
  const cells = rows.map((row) => row.split(','))
  expect(cells.every((row) => row.at(-1) === 'completed')).toBe(true)
  const tokens = cells.reduce((sum, row) => sum + Number(row[3]), 0)
  expect(tokens).toBe(figures.outputTokens)
})

test('serving: a trace whose prompts share blocks, and one request that can never run', async () => {
  const trace = join(folder, 'trace.jsonl')
  const line = (timestamp: number, input: number, blocks: number[]): string =>
    JSON.stringify({ timestamp, input_length: input, output_length: 4, hash_ids: blocks })
  const lines = [line(0, 1024, [1, 2]), line(400, 1024, [1, 3]), line(500, 60_000, [9])]
  writeFileSync(trace, `${lines.join('\n')}\n`)
  const scales = ['--length-scale', '0.125', '--time-scale', '2']
  const options = ['--trace', trace, ...scales, '--prefix-cache', '--kv-block-size', '16']
  const figures = await json<ServingFigures>('serving', ...options)
  expect(figures).toMatchObject({
    ...{ requests: 3, completed: 2, inputTokens: 256, outputTokens: 2 },
    refused: { OCTAVO_CONTEXT_EXCEEDED: 1 },
  })
  expect(figures.cachedTokens).toBe(64)
  expect(figures.elapsedMs).toBeGreaterThan(1000)
})

test('serving: callers that ask again, with dummy weights of a config', async () => {
  const config = {
    architectures: ['LlamaForCausalLM'],
    ...{ hidden_size: 64, intermediate_size: 96, num_hidden_layers: 2, vocab_size: 128 },
    ...{ num_attention_heads: 2, num_key_value_heads: 1, max_position_embeddings: 256 },
  }
  writeFileSync(join(folder, 'config.json'), JSON.stringify(config))
  const model = ['-m', folder, '--load-format', 'dummy']
  const load = ['--sessions', '3', '--duration', '0.3', '--input', '2-60', '--output', '1-8']
  const figures = await json<ServingFigures>('serving', ...model, ...load)
  expect(figures).toMatchObject({ loadFormat: 'dummy', maxSequences: 3, refused: {} })
  expect(figures.completed).toBeGreaterThanOrEqual(3)
})

test('Ctrl-C ends a run with the figures so far', async () => {
  const load = ['--rate', '20', '--requests', '100000', '--input', '8', '--output', '8', '--json']
  const run = new Command('bench', 'serving', ...load, ...cpu)
  while (!run.stderr.includes('loaded in')) await new Promise((resolve) => setTimeout(resolve, 5))
  await new Promise((resolve) => setTimeout(resolve, 500))
  run.child.kill('SIGINT')
  const { code, stdout, stderr } = await run.ending
  expect(code).toBe(130)
  const figures = JSON.parse(stdout) as ServingFigures
  expect(figures.interrupted).toBe(true)
  expect(figures.requests).toBeLessThan(100_000)
  expect(stderr).toMatch(/of 100000 came, 0 run or wait/)
})

test.each<[argv: string[], sentence: RegExp]>([
  [['latncy'], /unknown command 'bench latncy'; did you mean latency\?/],
  [['latency', 'model'], /bench latency takes options alone and got 'model'/],
  [['latency', '--input', '0'], /--input is '0'; it takes a number of at least 1|from 1 to/],
  [['latency', '--load-format', 'random'], /--load-format is 'random'/],
  [['serving'], /takes one of --rate, --trace and --sessions, and got none/],
  [['serving', '--rate', '1', '--trace', 'x'], /and got --rate and --trace/],
  [
    ['serving', '--rate', '1', '--duration', '3'],
    /--duration belongs to --sessions, not to --rate/,
  ],
  [['serving', '--rate', '0'], /--rate is '0'; it takes a number above 0/],
  [
    ['serving', '--sessions', '2', '--input', '9-3'],
    /--input is '9-3'; it takes a number of tokens/,
  ],
])('%j is refused before anything is loaded', async (argv, sentence) => {
  const { code, stdout, stderr } = await octavo('bench', ...argv)
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toMatch(sentence)
})

test('a broken trace is refused before anything is loaded, and is no wrong command line: code 1', async () => {
  const argv = ['bench', 'serving', '--trace', 'models/stories260k/config.json']
  const { code, stdout, stderr } = await octavo(...argv)
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
  expect(stderr).toMatch(/^octavo: .*config\.json, line 1/)
})

test.each<[argv: string[], sentence: RegExp]>([
  [['latency', '--input', '500', '--output', '13'], /500 tokens in and 13 out make 513.*512/],
  [['throughput', '--batch', '4', '--sequences', '2'], /the engine runs 2 sequences at once/],
  [['throughput', '--batch', '8', '--input', '200', '--kv', '512KiB'], /cannot decode together/],
])('%j is refused by what the model and the memory allow', async (argv, sentence) => {
  const { code, stderr } = await octavo('bench', ...argv, '-d', 'cpu', '--threads', '2')
  expect(code).not.toBe(0)
  expect(stderr).toMatch(sentence)
})

test('the help of every command says its options', async () => {
  for (const command of ['latency', 'throughput', 'serving', 'host']) {
    const { code, stdout } = await octavo('bench', command, '--help')
    expect(code).toBe(0)
    for (const flag of ['--load-format', '--batch-tokens', '--json']) expect(stdout).toContain(flag)
  }
  expect((await octavo('bench', '--help')).stdout).toMatch(
    /latency[^]*throughput[^]*serving[^]*host/,
  )
  expect((await octavo('bench')).code).toBe(2)
})
