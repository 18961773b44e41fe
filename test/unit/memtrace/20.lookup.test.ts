/** Every way by which a program finds the driver leads to the tracer, and nothing else is disturbed. */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import {
  compile,
  compileAll,
  environment,
  folder,
  functionsOf,
  removeAll,
  summary,
  trace,
} from './traced.js'

const onLinux = process.platform === 'linux' ? describe : describe.skip
const memtraceSources = join(__dirname, '..', '..', '..', 'memtrace')
const toolkits = [process.env['CUDA_PATH'], process.env['CUDA_HOME'], '/usr/local/cuda']
const toolkit = toolkits.find((path) => path && existsSync(join(path, 'include', 'cudaTypedefs.h')))
const withToolkit = toolkit === undefined ? it.skip : it
const cudart = join(toolkit ?? '', 'lib64', 'libcudart_static.a')
const withRuntime = existsSync(cudart) ? it : it.skip

onLinux('a program that finds the driver by', () => {
  beforeAll(compileAll)
  afterAll(removeAll)

  const lookup = (way: string): ReturnType<typeof trace> => trace([join(folder, 'lookup'), way])

  it.each(['dlsym', 'default', 'proc', 'old-proc'])('%s is traced', (way) => {
    const { status, report } = lookup(way)
    expect(status).toBe(0)
    expect(report).toMatchObject({ allocations: 10, frees: 9 })
    expect(summary(report.unmatched)).toEqual([['device', 1, 5000]])
    expect(functionsOf(report.unmatched[0])[0]).toBe('plant')
  })

  it('cuGetProcAddress with a per-thread default stream is traced', () => {
    const { status, report } = lookup('per-thread')
    expect(status).toBe(0)
    expect(summary(report.unmatched)).toEqual([['async', 1, 5000]])
  })

  it('cuGetProcAddress finds no more and no less than the driver has', () => {
    expect(lookup('too-old').status).toBe(0)
  })

  it('cuGetProcAddress of a newer CUDA is traced as far as its functions are those that we know', () => {
    const { status, report } = lookup('newer')
    expect(status).toBe(0)
    expect(summary(report.unmatched)).toEqual([['async', 1, 5000]])
    expect(report).toMatchObject({ allocations: 1, unknownFrees: 0 })
  })

  // A driver that was unloaded begins anew and gives the same addresses out: what lay there is gone.
  it('opening and closing it again and again is traced', () => {
    const { status, report } = lookup('reopened')
    expect(status).toBe(0)
    expect(report).toMatchObject({ allocations: 30, frees: 29, replaced: 2 })
  })

  it('looking in all libraries finds nothing where there is no driver', () => {
    const { status, stderr, report } = lookup('hidden')
    expect(status).toBe(0)
    expect(report.driver).toBeNull()
    expect(stderr).toMatch(
      /libcuda\.so\.1 was never used in this process: there is nothing to report/,
    )
  })

  it('RTLD_NEXT gets what it would get without us', () => {
    const second = compile('next.c', 'libsecond.so', '-DSECOND', '-shared', '-fPIC')
    const first = compile('next.c', 'libfirst.so', '-DFIRST', '-shared', '-fPIC', '-ldl')
    const program = compile('next.c', 'next', '-Wl,--no-as-needed', first, second)
    const untraced = spawnSync(program, { env: environment() })
    expect(untraced.status).toBe(12)
    expect(trace([program]).status).toBe(12)
  })

  withRuntime('a statically linked CUDA runtime is given wrappers for all it asks', () => {
    const libraries = ['-I', join(toolkit!, 'include'), cudart, '-ldl', '-lrt', '-lpthread']
    const program = compile('runtime.cc', 'runtime', '-rdynamic', ...libraries)
    const { status, report } = trace([program])
    expect(status).toBe(0)
    // The runtime goes no further than to look its functions up: no stand-in passes its check of the driver.
    expect(report.driverFunctions).toBeGreaterThanOrEqual(25)
  })

  withToolkit('the prototypes that we declare are those of the toolkit', () => {
    const source = join(__dirname, 'programs', 'check_prototypes.cc')
    const args = [
      '-std=c++20',
      '-fsyntax-only',
      '-I',
      memtraceSources,
      '-isystem',
      join(toolkit!, 'include'),
    ]
    execFileSync('c++', [...args, source], { stdio: ['ignore', 'pipe', 'pipe'] })
  })
})
