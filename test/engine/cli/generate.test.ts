import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { GenerationResult } from '../../../lib/index.js'
import { copyOfStories, golden, makeEndless, stories } from '../sdk/support.js'
import { command, Command, octavo } from './command.js'

const [story] = golden
const cpu = ['--device', 'cpu', '--threads', '2']

let endless: string
let remove: () => Promise<void>
beforeAll(async () => {
  ;({ folder: endless, remove } = await copyOfStories())
  await makeEndless(endless)
})
afterAll(() => remove())

/** Would write for minutes. */
const longRun = (...argv: string[]): Command =>
  new Command('generate', ...cpu, '--model', endless, 'Once upon a time', '-n', '60000', ...argv)

describe('octavo generate', () => {
  it('writes the generated text alone to stdout, the rest to stderr', async () => {
    const { code, stdout, stderr } = await octavo(
      'generate',
      ...cpu,
      'Once upon a time',
      '-n',
      '252',
    )
    expect(code).toBe(0)
    expect(`Once upon a time${stdout}`).toBe(`${story.text}\n`)
    expect(stderr).toMatch(
      /^octavo: stories260k \(.*\) on cpu, loaded in .* s\noctavo: 5 tokens in, 252 out/,
    )
  })

  it('takes every flag', async () => {
    const flags = '--kv-block-size 16 -n 12 -t 0.8 --top-p 0.9 --top-k 40 --min-p 0.01 --seed 7'
    const argv = [
      'generate',
      ...cpu,
      '--model',
      stories,
      ...flags.split(' '),
      'Lily',
      '--stop',
      'zzz',
    ]
    const [first, second] = await Promise.all([octavo(...argv), octavo(...argv)])
    expect(first.code).toBe(0)
    expect(first.stdout.length).toBeGreaterThan(5)
    expect(second.stdout).toBe(first.stdout)
  })

  it('writes several samples one after the other, or as one JSON object a line', async () => {
    const argv = [
      'generate',
      ...cpu,
      'Lily',
      '-n',
      '12',
      '-t',
      '1',
      '--seed',
      '7',
      '--samples',
      '2',
    ]
    const { code, stdout } = await octavo(...argv)
    expect(code).toBe(0)
    const lines = (await octavo(...argv, '--json')).stdout.trimEnd().split('\n')
    const results = lines.map((line) => JSON.parse(line) as GenerationResult)
    expect(results.map(({ index }) => index)).toEqual([0, 1])
    expect(stdout).toBe(results.map(({ index, text }) => `--- sample ${index}\n${text}\n`).join(''))
    expect(results[0]!.text).not.toBe(results[1]!.text)
  })

  it('ends before the first stop string', async () => {
    const argv = ['generate', ...cpu, 'Once upon a time', '--stop', 'One day', '--stop', 'Lily']
    expect((await octavo(...argv)).stdout).toBe(', there was a little girl named \n')
  })

  it('writes one JSON object with --json', async () => {
    const argv = ['generate', ...cpu, 'Once upon a time', '--json', '--max-new-tokens=5']
    const { stdout } = await octavo(...argv)
    const result = JSON.parse(stdout) as GenerationResult & { model: string; device: string }
    expect(result).toMatchObject({
      model: stories,
      device: 'cpu',
      text: ', there was a little',
      tokens: story.ids.slice(5, 10),
      finishReason: 'length',
      usage: { promptTokens: 5, completionTokens: 5 },
    })
  })

  it('stops cleanly at Ctrl-C, keeps the text, and says so with code 130', async () => {
    const run = longRun()
    await run.until((stdout) => stdout.includes(', there'))
    run.child.kill('SIGINT')
    const { code, stdout, stderr } = await run.ending
    expect(code).toBe(130)
    expect(stdout).toMatch(/^, there.*\n$/s)
    expect(stderr).not.toMatch(/Error|\n +at /)
  })

  it('stops at Ctrl-C with --json too, telling what there was', async () => {
    const run = longRun('--json')
    while (!run.stderr.includes('loaded')) await new Promise((resolve) => setTimeout(resolve, 2))
    run.child.kill('SIGINT')
    const { code, stdout } = await run.ending
    expect(code).toBe(130)
    expect(JSON.parse(stdout)).toMatchObject({ finishReason: 'cancelled' })
  })

  it.each([
    ['generate', 'Once'],
    ['bench', 'latency'],
  ])(
    '%s with --json writes one object where Ctrl-C comes before there is a result',
    async (...argv) => {
      const hook = join(endless, 'interrupt.cjs')
      // Ctrl-C as soon as the command listens for it, which is before it loads.
      writeFileSync(
        hook,
        `const { once } = process
      process.once = function (event, listener) {
        once.call(this, event, listener)
        if (event === 'SIGINT') process.emit('SIGINT')
        return this
      }`,
      )
      const { NODE_OPTIONS: before } = process.env
      process.env['NODE_OPTIONS'] = `${before ?? ''} --require ${hook}`
      const run = new Command(...argv, '--json')
      if (before === undefined) delete process.env['NODE_OPTIONS']
      else process.env['NODE_OPTIONS'] = before
      const { code, stdout, stderr } = await run.ending
      expect(code).toBe(130)
      expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'OCTAVO_CANCELLED' } })
      expect(stderr).toBe('')
    },
  )

  it.each([
    [
      ['--seed', '3', '--top-p', '0.5'],
      "(the model's own default), which is greedy: --top-p and --seed change nothing",
    ],
    [['--seed', '3', '-t', '0'], 'temperature is 0, which is greedy: --seed changes nothing'],
  ])('says that %j change nothing at temperature 0', async (flags, sentence) => {
    const { code, stderr } = await octavo('generate', ...cpu, 'Lily', '-n', '2', ...flags)
    expect(code).toBe(0)
    expect(stderr).toContain(sentence)
  })

  it('says nothing of flags that do something', async () => {
    const argv = ['generate', ...cpu, 'Lily', '-n', '2', '--seed', '3', '--top-p', '0.5', '-t', '1']
    expect((await octavo(...argv)).stderr).not.toContain('greedy')
  })

  it('ends quietly when its reader goes away', () => {
    const line = `"${process.execPath}" "${command}" generate --device cpu Tom -n 500 | head -c 10`
    const { stdout, stderr } = spawnSync('sh', ['-c', line], { encoding: 'utf8' })
    expect(stdout).toHaveLength(10)
    expect(stderr).not.toMatch(/EPIPE|\n +at /)
  })

  it.each([
    [['generate'], 'generate takes one PROMPT and got 0'],
    [['generate', 'a', 'b'], 'generate takes one PROMPT and got 2'],
    [['generate', 'a', '--max-new-token', '3'], 'did you mean --max-new-tokens?'],
    [['generate', 'a', '-n', '0'], "octavo: --max-new-tokens is '0'; it takes a number from 1"],
    [['generate', 'a', '-n', 'many'], "octavo: --max-new-tokens is 'many'; it takes a number"],
    [['generate', 'a', '-t', '-1'], "octavo: --temperature is '-1'; it takes a number from 0"],
    [['generate', 'a', '--top-p', '2'], "octavo: --top-p is '2'; it takes a number above 0"],
    [['chat', '--stop', ''], "octavo: --stop is ''"],
    [['doctor', 'extra'], "doctor takes no argument and got 'extra'"],
    [['generate', 'a', '--device', 'gpu'], "--device is 'gpu'; it takes auto, cpu, cuda or cuda:N"],
    [['generate', 'a', '--kv-block-size', '48'], "--kv-block-size is '48'; it takes 16, 32, 64"],
    [['generate', 'a', '--threads', '2000'], "--threads is '2000'; it takes a number from 0 to"],
    [['generate', 'a', '--threads', '1.5'], "--threads is '1.5'; it takes an integer from 0"],
    [['generate', 'a', '--model', ''], "--model is ''; it takes the folder of a model"],
    [['chat', '--model', ''], "--model is ''; it takes the folder of a model"],
    [['generate', 'a', '--memory-snapshot', ''], "--memory-snapshot is ''; it takes the path"],
    [['generate', 'a', '--toString'], 'unknown option --toString'],
    [['plan', '--device', 'gpu'], "--device is 'gpu'"],
    [['plan', '--dtype', 'int8'], "--dtype is 'int8'; it takes auto, fp32, bf16, fp16"],
    [['plan', '--kv-dtype', 'x'], "--kv-dtype is 'x'"],
    [['plan', '--kv-block-size', '8'], "--kv-block-size is '8'"],
    [['generat', 'a'], "unknown command 'generat'; did you mean generate?"],
    [['toString'], "unknown command 'toString'"],
  ])('%j is a wrong command line: code 2', async (argv, sentence) => {
    const { code, stdout, stderr } = await octavo(...argv)
    expect(code).toBe(2)
    expect(stdout).toBe('')
    expect(stderr).toContain(sentence)
    expect(stderr).not.toContain('loaded in')
    expect(stderr).toMatch(/\(OCTAVO_(INVALID_ARGUMENT|UNKNOWN_OPTION)\)\n$/)
  })

  it('tells a failure in one line: code 1', async () => {
    const { code, stderr } = await octavo('generate', 'a', '--model', '/no/such/folder')
    expect(code).toBe(1)
    expect(stderr).toMatch(/^octavo: .*\/no\/such\/folder.* \(OCTAVO_IO_FAILED\)\n$/)
  })
})

describe('--json where there is no result', () => {
  it('writes the error as one object on stdout, and the sentence on stderr', async () => {
    const { code, stdout, stderr } = await octavo(
      'generate',
      'a',
      '-m',
      '/no/such/folder',
      '--json',
    )
    expect(code).toBe(1)
    const { error } = JSON.parse(stdout) as { error: { code: string; message: string } }
    expect(error.code).toBe('OCTAVO_IO_FAILED')
    expect(stderr).toBe(`octavo: ${error.message} (${error.code})\n`)
  })

  it('says what is wrong with the command line', async () => {
    const { code, stdout } = await octavo('plan', '--json', '--nonsense')
    expect(code).toBe(2)
    expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'OCTAVO_UNKNOWN_OPTION' } })
  })

  it('does not heed what follows --', async () => {
    const { code, stdout } = await octavo('generate', '-m', '/no/such/folder', '--', '--json')
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
  })
})

describe('octavo', () => {
  it.each([
    [['--help'], 'octavo COMMAND'],
    [['help'], 'octavo COMMAND'],
    [['generate', '--help'], '--max-new-tokens'],
    [['chat', '-h'], '--system'],
    [['doctor', '--help'], '--json'],
    [['build', '--help'], '--cuda'],
    [['--version'], '0.'],
  ])('%j is answered on stdout', async (argv, text) => {
    const { code, stdout, stderr } = await octavo(...argv)
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toContain(text)
  })

  it('alone tells its commands on stderr: code 2', async () => {
    const { code, stdout, stderr } = await octavo()
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toContain('generate PROMPT')
  })
})

describe('octavo doctor', () => {
  it('says what is here', async () => {
    const { code, stdout } = await octavo('doctor')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^octavo +\d+\.\d+\.\d+\nnode +v/)
    expect(stdout).toMatch(/^cuda +\S/m)
    expect(stdout).toMatch(/^cpu +.*threads, .* free of /m)
  })

  it('says the same as JSON', async () => {
    const { stdout } = await octavo('doctor', '--json')
    expect(JSON.parse(stdout)).toMatchObject({
      node: process.version,
      problem: '',
      addon: {
        buildInfo: { cuda: expect.any(Boolean) as boolean },
        cuda: { built: expect.any(Boolean) as boolean },
        devices: [{ id: 'cpu', problem: '' }],
      },
    })
  })
})
