/** Python as the traced program, as PyTorch and vLLM are. */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { compile, compileAll, folder, removeAll, summary, trace } from './traced.js'

const hasPython = spawnSync('python3', ['-c', 'import ctypes']).status === 0
const withPython = process.platform === 'linux' && hasPython ? describe : describe.skip

const program = `
import ctypes, os, sys, threading
cuda = ctypes.CDLL('libcuda.so.1')

def allocate(size):
    address = ctypes.c_ulonglong()
    assert cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size)) == 0
    return address

def forget():
    allocate(7000)

def use():
    assert cuda.cuMemFree_v2(allocate(3000)) == 0

for _ in range(20): use()
threads = [threading.Thread(target=forget) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
if sys.argv[1] == 'now': os._exit(6)
sys.exit(6)
`

const lockedProgram = `
import ctypes, threading, time
free = ctypes.CDLL('LIBRARY')
holding = ctypes.PyDLL('LIBRARY')
thread = threading.Thread(target=free.allocate_locked)
thread.start()
while not free.is_allocating(): time.sleep(0.001)
holding.wait_for_framework()
thread.join()
`

withPython('a traced python', () => {
  beforeAll(() => {
    compileAll()
    writeFileSync(join(folder, 'leak.py'), program)
  })
  afterAll(removeAll)

  it.each([
    ['exit', 'exit'],
    ['now', '_exit'],
  ])('with ctypes has its leak reported, ended by %s', (way, reason) => {
    const { status, report } = trace(['python3', join(folder, 'leak.py'), way])
    expect(status).toBe(6)
    expect(report).toMatchObject({ reason, allocations: 24, frees: 20, lost: 0 })
    const total = summary(report.unmatched).reduce((sum, [, , bytes]) => sum + bytes, 0)
    expect(total).toBe(4 * 7000)
  })

  it('has the lines of its leak named where that is asked for', () => {
    const { status, stderr, report } = trace(
      ['python3', join(folder, 'leak.py'), 'exit'],
      ['--python', '4', '--frames', '1'],
    )
    expect(status).toBe(6)
    expect(summary(report.unmatched)).toEqual([['device', 4, 4 * 7000]])
    const python = report.unmatched[0]!.stack.slice(1)
    const lines = program.split('\n')
    const innermost = python.map(({ function: name, line }) => [name, lines[line! - 1]?.trim()])
    expect(innermost.slice(0, 2)).toEqual([
      ['allocate', expect.stringMatching(/^assert cuda\.cuMemAlloc_v2/)],
      ['forget', 'allocate(7000)'],
    ])
    expect(python[0]!.file).toBe(join(folder, 'leak.py'))
    expect(stderr).toMatch(/ {7}forget {2}\S+leak\.py:11\n/)
  })

  it('is not waited for by a thread whose lock the holder of the interpreter waits for', () => {
    const library = compile(
      'interpreter_lock.c',
      'interpreter_lock.so',
      '-shared',
      '-fPIC',
      join(folder, 'libcuda.so.1'),
    )
    const file = join(folder, 'locked.py')
    writeFileSync(file, lockedProgram.replaceAll('LIBRARY', library))
    const { status, report } = trace(['python3', file], ['--python', '8'])
    expect(status).toBe(0)
    expect(summary(report.unmatched)).toEqual([['device', 1, 8000]])
    expect(report.unmatched[0]!.stack.map(({ line }) => line)).toEqual(
      report.unmatched[0]!.stack.map(() => undefined),
    )
  })
})
