/** Every way in which a process ends, and what it starts before. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  compileAll,
  folder,
  readReport,
  removeAll,
  scenario,
  start,
  summary,
  trace,
  type Report,
} from './traced.js'

const onLinux = process.platform === 'linux' ? describe : describe.skip
const one = [['device', 1, 1000]]

/** Reports of the processes that the first one started, whose names have their id appended. */
function childReports(name: string): Report[] {
  const names = readdirSync(folder).filter((file) => file.startsWith(`${name}.`))
  return names.map((file) => readReport(join(folder, file)))
}

onLinux('a traced process', () => {
  beforeAll(compileAll)
  afterAll(removeAll)

  it.each([
    ['exit', 3, 'exit'],
    ['_exit', 4, '_exit'],
    ['quick_exit', 5, 'quick_exit'],
    ['abort', 134, 'SIGABRT'],
    ['fault', 139, 'SIGSEGV'],
  ])('that ends by %s has status %d and a report', (name, status, reason) => {
    const run = scenario(name)
    expect(run.status).toBe(status)
    expect(run.report).toMatchObject({ reason, complete: true })
    expect(summary(run.report.unmatched)).toEqual(one)
    expect(run.stderr.match(/octavo memtrace: process/g)).toHaveLength(1)
  })

  it('that SIGTERM ends has a report where that is asked for', () => {
    const silent = scenario('term')
    expect(silent).toMatchObject({ status: 143, stderr: '', report: undefined })
    const { status, report } = scenario('term', '--term')
    expect(status).toBe(143)
    expect(report.reason).toBe('SIGTERM')
    expect(summary(report.unmatched)).toEqual(one)
  })

  it('that closes every descriptor still has its report on stderr', () => {
    const { status, stderr } = scenario('closed')
    expect(status).toBe(0)
    expect(stderr).toMatch(/1000 bytes in 1 device allocation/)
  })

  it('shares nothing with the child of its fork: each has its own leak', () => {
    const json = join(folder, 'fork.json')
    const { status, stderr } = trace([join(folder, 'scenarios'), 'fork'], ['--json', json])
    expect(status).toBe(0)
    expect(summary(readReport(json).unmatched)).toEqual(one)
    const children = childReports('fork.json')
    expect(children.map(({ reason, unmatched }) => [reason, summary(unmatched)])).toEqual([
      ['_exit', [['device', 1, 2000]]],
    ])
    expect(stderr.match(/octavo memtrace: process/g)).toHaveLength(2)
  })

  it('may fork while its other threads are in traced calls', () => {
    const json = join(folder, 'forks.json')
    const { status } = trace([join(folder, 'scenarios'), 'forks'], ['--json', json])
    expect(status).toBe(0)
    expect(readReport(json)).toMatchObject({ unmatchedAllocations: 0, lost: 0, replaced: 0 })
    const children = childReports('forks.json')
    expect(children).toHaveLength(30)
    for (const child of children) {
      expect(child).toMatchObject({
        allocations: 2,
        frees: 1,
        unmatchedBytes: 2000,
        complete: true,
      })
    }
  })

  it('is not reported on by the child of its vfork', () => {
    const { status, stderr, report } = scenario('vfork')
    expect(status).toBe(0)
    expect(report.reason).toBe('exit')
    expect(summary(report.unmatched)).toEqual(one)
    expect(stderr.match(/octavo memtrace: process/g)).toHaveLength(1)
  })

  it('has the programs that it starts traced too, or not', () => {
    const json = join(folder, 'started.json')
    const program = [join(folder, 'scenarios'), 'started']
    expect(trace(program, ['--json', json, '--no-children']).status).toBe(0)
    expect(childReports('started.json')).toEqual([])
    expect(trace(program, ['--json', json]).status).toBe(0)
    expect(childReports('started.json').map(({ unmatchedBytes }) => unmatchedBytes)).toEqual([
      370368,
    ])
    expect(readReport(json).driver).toBeNull()
  })

  it('that replaces itself by exec is reported on before, and the next program does not write over it', () => {
    const { status, stderr, report } = scenario('replaced')
    expect(status).toBe(0)
    expect(report.reason).toBe('exec')
    expect(summary(report.unmatched)).toEqual(one)
    expect(stderr.match(/exec after/g)).toHaveLength(2) // the first exec failed
  })

  it('reports on SIGUSR2 and goes on', async () => {
    const json = join(folder, 'live-%p.json')
    const child = start([join(folder, 'scenarios'), 'waiting'], ['--json', json, '--live'])
    let errors = ''
    child.stderr!.setEncoding('utf8').on('data', (text: string) => (errors += text))
    const ended = new Promise((done) => child.on('close', done))
    await new Promise((ready) => child.stdout!.once('data', ready))
    child.kill('SIGUSR2')
    while (!/, live after[\s\S]*plant\+/.test(errors)) {
      await new Promise((resume) => setTimeout(resume, 5))
    }
    expect(errors).toMatch(/1000 bytes in 1 device allocation/)
    child.kill('SIGUSR1') // forwarded: the program ends by itself
    expect(await ended).toBe(0)
    const [file] = readdirSync(folder).filter((name) => /^live-\d+\.json$/.test(name))
    expect(readReport(join(folder, file!))).toMatchObject({ reason: 'exit' })
  })

  it('leaves a log of its events, as long as it may be, with the stacks that they name', () => {
    const events = join(folder, 'events.jsonl')
    const { report } = scenario('kinds', '--events', events)
    const lines = readLines(events)
    const named = lines.filter(({ op }) => op !== undefined)
    expect(report).toMatchObject({ eventsWritten: named.length, eventsDropped: 0 })
    expect(named.map(({ op, kind, bytes }) => `${op} ${kind} ${bytes}`)).toEqual([
      'alloc device 3072',
      'alloc managed 2000',
      'alloc stream 0',
      'alloc async 3000',
      'alloc async 4000',
      'alloc async 5000',
      'alloc pinned 6000',
      'alloc pinned 7000',
      'alloc registered 4096',
      'free async 3000',
      'free async 5000',
      'free pinned 7000',
    ])
    const stacks = new Set(lines.filter(({ op }) => op === undefined).map(({ stack }) => stack))
    for (const { stack } of named) expect(stacks).toContain(stack)
    const short = scenario('clean', '--events', events, '--max-events', '10')
    expect(short.report).toMatchObject({ eventsWritten: 10, eventsDropped: 190, allocations: 100 })
    expect(readLines(events).filter(({ op }) => op !== undefined)).toHaveLength(10)
  })

  it('writes its report where it is asked to', () => {
    const output = join(folder, 'report.txt')
    const { stderr } = scenario('leak', '--output', output)
    expect(stderr).toBe('')
    expect(readFileSync(output, 'utf8')).toMatch(/370368 bytes in 3 device allocations/)
  })
})

interface EventLine {
  op?: string
  kind?: string
  bytes?: number
  stack: number
}

function readLines(file: string): EventLine[] {
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n')
  return lines.map((line) => JSON.parse(line) as EventLine)
}
