/** Python as the traced program, as PyTorch and vLLM are. */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { compileAll, folder, removeAll, summary, trace } from './traced.js'

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
})
