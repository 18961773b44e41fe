/** `octavo plan` as a shell runs it. */
import type { MemoryPlan } from '../../../lib/index.js'
import { octavo } from './command.js'

const card = ['plan', '--memory', '1GiB', '--context-memory', '100MiB']

test('a table: every item in bytes, what is left, and how many sessions', async () => {
  const { code, stdout, stderr } = await octavo(...card, '--context', '512', '--sequences', '4')
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toMatch(/on cuda:0, fp32: 4 sequences/)
  expect(stdout).toMatch(/context {4}of the driver +104,857,600 bytes {2}100 MiB/)
  for (const tag of ['weights', 'rope', 'activations', 'batch.input', 'sampling', 'kv', 'scores']) {
    expect(stdout).toMatch(new RegExp(`^ {2}\\w+ +${tag.replace('.', '\\.')} +[\\d,]+ bytes`, 'm'))
  }
  expect(stdout).toMatch(/weights\.ring .*while loading/)
  expect(stdout).toMatch(/longest context: 512 tokens\nsessions of 512 tokens: 4 at once/)
  expect(stdout).toMatch(/It fits\.\n$/)
})

test('the JSON says what the table says', async () => {
  const table = await octavo(...card)
  const { code, stdout } = await octavo(...card, '--json')
  expect(code).toBe(0)
  const plan = JSON.parse(stdout) as MemoryPlan
  expect(plan).toMatchObject({ fits: true, missing: null, contextBytes: 100 * 2 ** 20 })
  for (const { bytes } of [...plan.items, ...plan.loading]) {
    expect(table.stdout).toContain(`${bytes.toLocaleString('en-US')} bytes`)
  }
})

test('what does not fit is named, with the status of a failure', async () => {
  const { code, stdout } = await octavo('plan', '--memory', '2MiB', '--batch-tokens', '64')
  expect(code).toBe(1)
  expect(stdout).toMatch(
    /It does not fit: \w+ \/ \S+ needs [\d,]+ bytes and [\d,]+ are left, short by/,
  )
  expect(stdout).toMatch(/context {4}of the driver +not measured/)
})

test('the flags reach the plan', async () => {
  const { stdout } = await octavo(
    ...['plan', 'models/stories260k', '-d', 'cpu', '--memory-limit', '512MiB', '--kv', '2MiB'],
    ...['--kv-dtype', 'bf16', '--kv-block-size', '16', '--dtype', 'fp16', '--sequences', '3'],
    ...['--batch-tokens', '33', '--pinned', '8MiB', '--json'],
  )
  expect(JSON.parse(stdout)).toMatchObject({
    device: 'cpu',
    limitBytes: 512 * 2 ** 20,
    pinnedLimitBytes: 8 * 2 ** 20,
    dtype: 'fp16',
    maxSequences: 3,
    maxBatchTokens: 33,
    kv: { dtype: 'bf16', blockSize: 16, blockBytes: 16 * 640 },
  })
})

test.each([
  [['--memory', 'much'], /--memory is 'much'/],
  [['--memory-limit', '7.5'], /--memory-limit is '7\.5'/],
  [['--context-memory', '1MiB'], /give its memory with --memory too/],
  [['--sequence', '3'], /did you mean --sequences/],
  [['a', 'b'], /plan takes one MODEL and got 'b' too/],
  [['--kv-dtype', 'int3'], /--kv-dtype is 'int3'/],
  [['--context', '0'], /--context is '0'/],
])('%j is a wrong command line', async (argv, message) => {
  const { code, stdout, stderr } = await octavo('plan', ...argv)
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toMatch(message)
})

test('a folder that is no model, and a context beyond the model', async () => {
  const missing = await octavo('plan', '/no/such/folder')
  expect(missing).toMatchObject({ code: 1, stdout: '' })
  expect(missing.stderr).toMatch(/OCTAVO_IO_FAILED/)
  const long = await octavo(...card, '--context', '4096')
  expect(long).toMatchObject({ code: 1, stdout: '' })
  expect(long.stderr).toMatch(/OCTAVO_CONTEXT_EXCEEDED/)
})

test('--help lists the options', async () => {
  const { code, stdout } = await octavo('plan', '--help')
  expect(code).toBe(0)
  expect(stdout).toMatch(/--context-memory SIZE/)
})

test('a folder with config.json alone is planned with dummy weights, and refused without', async () => {
  const folder = 'scripts/bench/configs/llama-3.1-8b'
  const memory = ['--memory', '80GiB']
  const { code, stdout } = await octavo(
    ...['plan', folder, ...memory, '--load-format', 'dummy', '--json'],
  )
  expect(code).toBe(0)
  expect((JSON.parse(stdout) as MemoryPlan).regions.weights).toBeGreaterThan(16e9)
  const refused = await octavo('plan', folder, ...memory)
  expect(refused).toMatchObject({ code: 1 })
  expect(refused.stderr).toMatch(/has no model\.safetensors.*OCTAVO_IO_FAILED/)
  const wrong = await octavo('plan', folder, ...memory, '--load-format', 'random')
  expect(wrong).toMatchObject({ code: 2 })
  expect(wrong.stderr).toMatch(/--load-format is 'random'; it takes files, dummy/)
})
