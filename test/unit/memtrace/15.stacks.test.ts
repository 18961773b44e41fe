/** The walk by unwind tables against libgcc's unwinder: through callbacks, threads, exceptions, alloca. */
import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { compile, environment, folder, removeAll } from './traced.js'

const onLinux = process.platform === 'linux' ? describe : describe.skip
const memtraceSources = join(__dirname, '..', '..', '..', 'memtrace')
const walk = ['walk', 'row_program', 'frame_description'].map((name) =>
  join(memtraceSources, 'stack', `${name}.cc`),
)

onLinux('a program compiled with', () => {
  beforeAll(() => mkdirSync(folder, { recursive: true }))
  afterAll(removeAll)

  it.each(['-O0', '-O2 -fomit-frame-pointer', '-O2 -fno-omit-frame-pointer'])(
    '%s has the same stacks by our walk and by the unwinder',
    (flags) => {
      const args = [
        '-std=c++20',
        '-w',
        '-I',
        memtraceSources,
        ...flags.split(' '),
        ...walk,
        '-lpthread',
      ]
      const program = compile('compare_stacks.cc', 'compare_stacks', ...args)
      const output = execFileSync(program, { env: environment(), encoding: 'utf8' })
      const [compared, differed, unknown] = output.trim().split(' ').map(Number)
      expect(compared).toBeGreaterThan(50)
      // The one that our walk leaves to the unwinder is the frame of a signal.
      expect({ differed, unknown }).toEqual({ differed: 0, unknown: 1 })
    },
  )
})
