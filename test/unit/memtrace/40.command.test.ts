/** The command around the traced program: arguments, exit codes, signals, refusals. */
import { spawnSync } from 'node:child_process'
import { chmodSync, copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findLibrary } from '../../../lib/cli/memtrace.js'
import { refusal } from '../../refusal.js'
import {
  compileAll,
  environment,
  folder,
  memtrace,
  readReport,
  removeAll,
  start,
  trace,
} from './traced.js'

describe('where the tracer is looked for', () => {
  const { platform, arch } = process
  const pretend = (name: 'platform' | 'arch', value: string): void => {
    Object.defineProperty(process, name, { value })
  }
  afterEach(() => {
    pretend('platform', platform)
    pretend('arch', arch)
  })

  it.each([
    ['darwin', 'arm64'],
    ['win32', 'x64'],
    ['linux', 'riscv64'],
  ])('%s on %s is refused by name', (system, processor) => {
    pretend('platform', system)
    pretend('arch', processor)
    expect(() => findLibrary()).toThrow(
      refusal('OCTAVO_NATIVE_MISSING', `this is ${system}-${processor}`),
    )
  })

  it('a folder without it is named, and what to do', () => {
    pretend('platform', 'linux')
    pretend('arch', 'x64')
    process.env['OCTAVO_PREBUILD'] = '/nowhere'
    expect(() => findLibrary()).toThrow(
      refusal('OCTAVO_NATIVE_MISSING', 'no octavo-memtrace.so in /nowhere/build/Release'),
    )
    delete process.env['OCTAVO_PREBUILD']
  })
})

const onLinux = process.platform === 'linux' ? describe : describe.skip

onLinux('octavo memtrace', () => {
  beforeAll(compileAll)
  afterAll(removeAll)

  it('passes arguments, output and exit code of the command through', () => {
    const { status, stdout } = memtrace(
      '--',
      'sh',
      '-c',
      'echo "$1 $2"; exit 42',
      'sh',
      '--top',
      '--',
    )
    expect({ status, stdout }).toEqual({ status: 42, stdout: '--top --\n' })
  })

  it('says that a command is not there: 127', () => {
    const { status, stderr } = memtrace('--', 'no-such-command')
    expect(status).toBe(127)
    expect(stderr).toBe(
      "octavo: memtrace cannot run 'no-such-command': it was not found (OCTAVO_INVALID_ARGUMENT)\n",
    )
  })

  it('says that a command cannot be run: 126', () => {
    const file = join(folder, 'not-executable')
    writeFileSync(file, 'text')
    chmodSync(file, 0o644)
    const { status, stderr } = memtrace('--', file)
    expect(status).toBe(126)
    expect(stderr).toMatch(/^octavo: memtrace cannot run '.*not-executable': .*EACCES/)
  })

  it.each([
    [['python3', 'x.py'], "memtrace got 'python3' before --"],
    [[], 'memtrace needs a command'],
    [['--top', '3', '--'], 'memtrace needs a command'],
    [['--topp', '3', '--', 'true'], 'unknown option --topp; did you mean --top?'],
    [['--top', '-1', '--', 'true'], '--top'],
    [['--frames', '33', '--', 'true'], "--frames is '33'; it takes a number from 1 to 32"],
    [
      ['--json', '/nowhere/x.json', '--', 'true'],
      "--json is '/nowhere/x.json'; there is no folder /nowhere",
    ],
  ])('refuses %j: 2', (args, sentence) => {
    const { status, stderr } = memtrace(...args)
    expect(status).toBe(2)
    expect(stderr).toContain(sentence)
  })

  it('says so when the command never loads the driver', () => {
    const { status, stderr, report } = trace(['true'])
    expect(status).toBe(0)
    expect(stderr).toMatch(
      /\(true\), _?exit after .*\n {2}libcuda\.so\.1 was never used in this process/,
    )
    expect(report).toMatchObject({ driver: null, allocations: 0 })
  })

  it('keeps what is preloaded already', () => {
    const other = join(folder, 'other.so')
    copyFileSync(join(folder, 'libcuda.so.1'), other)
    const script = 'echo "$LD_PRELOAD"'
    const { stdout } = trace(['sh', '-c', script], [], { LD_PRELOAD: other })
    expect(stdout).toMatch(/^\S+\/other\.so:\S+\/octavo-memtrace\.so\n$/)
    const without = trace(['sh', '-c', script], ['--no-children'], { LD_PRELOAD: other })
    expect(without.stdout).toBe(`${other}\n`)
    expect(trace(['sh', '-c', `${script}-`], ['--no-children']).stdout).toBe('-\n')
  })

  it.each(['SIGTERM', 'SIGHUP', 'SIGINT'] as const)(
    'forwards %s and ends as the command does',
    async (signal) => {
      const child = start(
        [
          'sh',
          '-c',
          'trap "echo caught; exit 9" TERM HUP INT; echo ready; for i in $(seq 3000); do sleep 0.01; done',
        ],
        [],
      )
      let said = ''
      child.stdout!.setEncoding('utf8').on('data', (text: string) => (said += text))
      const ended = new Promise((done) => child.on('close', done))
      await new Promise((ready) => child.stdout!.once('data', ready))
      child.kill(signal)
      expect(await ended).toBe(9)
      expect(said).toBe('ready\ncaught\n')
    },
  )

  it('is used without the command by two variables', () => {
    const json = join(folder, 'plain.json')
    const env = { ...environment(), LD_PRELOAD: findLibrary(), OCTAVO_MEMTRACE_JSON: json }
    const { status } = spawnSync(join(folder, 'scenarios'), ['leak'], { env })
    expect(status).toBe(7)
    expect(readReport(json)).toMatchObject({ unmatchedBytes: 370368 })
  })
})
