/** What cmake makes of the CUDA toolkits it may meet, and how the addon takes its place. */
import {
  chmodSync,
  closeSync,
  copyFileSync,
  fstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { buildWithCMake, findCMake, type BuildOptions } from '../../lib/toolchain/cmake.js'
import { root } from './consumer.js'

jest.setTimeout(900_000)

let folder: string
const { PATH: path, CUDA_PATH: cudaPath, CXX: cxx } = process.env

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'octavo-toolchain-'))
  for (const name of ['CMakeLists.txt', 'package.json']) {
    copyFileSync(join(root, name), join(folder, name))
  }
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  mkdirSync(join(folder, 'cpp'))
  copyFileSync(join(root, 'cpp', 'exports.map'), join(folder, 'cpp', 'exports.map'))
  writeFileSync(join(folder, 'cpp', 'broken.cc'), '#error "reached the compiler"\n')
})

afterEach(() => {
  process.env['PATH'] = path
  if (cudaPath === undefined) delete process.env['CUDA_PATH']
  else process.env['CUDA_PATH'] = cudaPath
  if (cxx === undefined) delete process.env['CXX']
  else process.env['CXX'] = cxx
  rmSync(folder, { recursive: true })
})

function build(options: Partial<BuildOptions>): Promise<void> {
  const cmake = findCMake()
  if ('missing' in cmake) throw new Error(cmake.missing)
  const onLine = (): void => {}
  return buildWithCMake(cmake.path, {
    folder,
    cuda: 'auto',
    jobs: 1,
    debug: false,
    onLine,
    ...options,
  })
}

/** An nvcc that is found first and does not work. */
function installBrokenNvcc(): void {
  const nvcc = join(folder, 'nvcc')
  writeFileSync(nvcc, '#!/bin/sh\necho "nvcc fatal : no licence" >&2\nexit 1\n')
  chmodSync(nvcc, 0o755)
  process.env['PATH'] = folder + delimiter + path
  delete process.env['CUDA_PATH']
}

it('stops with the reason at an nvcc that is there and does not work', async () => {
  installBrokenNvcc()
  const failure = build({})
  await expect(failure).rejects.toMatchObject({ code: 'OCTAVO_BUILD_FAILED' })
  await expect(failure).rejects.toThrow(
    /octavo: nvcc is at \S*nvcc but CMake\s+could\s+not\s+compile\s+with\s+it/,
  )
  await expect(failure).rejects.toThrow(/CMakeDetermineCUDACompiler/)
  await expect(failure).rejects.toThrow(/--cuda off/)
})

it('stops every time, not only when the cache is fresh', async () => {
  installBrokenNvcc()
  await expect(build({})).rejects.toThrow(/could\s+not\s+compile\s+with\s+it/)
  await expect(build({})).rejects.toThrow(/could\s+not\s+compile\s+with\s+it/)
})

it.each(['auto', 'on'] as const)(
  'looks for nvcc anew after one that did not work, --cuda %s',
  async (cuda) => {
    installBrokenNvcc()
    await expect(build({ cuda })).rejects.toThrow(/configure step ended/)
    process.env['PATH'] = path // and the broken one is still there, off PATH
    await expect(build({})).rejects.toThrow(/build step ended[\s\S]*reached the compiler/)
    installBrokenNvcc()
    await expect(build({})).rejects.toThrow(/configure step ended/)
    process.env['PATH'] = path
    rmSync(join(folder, 'nvcc'))
    await expect(build({})).rejects.toThrow(/build step ended[\s\S]*reached the compiler/)
  },
)

it('takes the compiler that CXX names now, and keeps what the folder was configured with', async () => {
  const entry = (name: string): string | undefined =>
    new RegExp(`^${name}:[A-Z]+=(.*)$`, 'm').exec(
      readFileSync(join(folder, 'build', 'CMakeCache.txt'), 'utf8'),
    )?.[1]
  await expect(build({ cuda: 'off' })).rejects.toThrow(/reached the compiler/)
  const generator = entry('CMAKE_GENERATOR')
  const compiler = join(folder, 'another-c++')
  writeFileSync(compiler, '#!/bin/sh\nexec c++ "$@"\n')
  chmodSync(compiler, 0o755)
  process.env['CXX'] = compiler
  await expect(build({ cuda: null })).rejects.toThrow(/reached the compiler/)
  expect(entry('CMAKE_CXX_COMPILER')).toBe(compiler)
  expect([entry('OCTAVO_CUDA'), entry('CMAKE_GENERATOR')]).toEqual(['OFF', generator])
  delete process.env['CXX'] // as it was built here before, until that compiler is gone
  await expect(build({ cuda: null })).rejects.toThrow(/reached the compiler/)
  expect(entry('CMAKE_CXX_COMPILER')).toBe(compiler)
  rmSync(compiler)
  await expect(build({ cuda: null })).rejects.toThrow(/reached the compiler/)
  expect(entry('CMAKE_CXX_COMPILER')).not.toBe(compiler)
  expect(entry('OCTAVO_CUDA')).toBe('OFF')
})

it('does not look at nvcc when CUDA is switched off', async () => {
  installBrokenNvcc()
  const lines: string[] = []
  const failure = build({ cuda: 'off', onLine: (line) => lines.push(line) })
  await expect(failure).rejects.toThrow(/build step ended[\s\S]*reached the compiler/)
  expect(lines.join('\n')).toMatch(/octavo: building for the CPU only \(CUDA is switched off\)/)
})

it('starts afresh in a folder that was configured elsewhere', async () => {
  mkdirSync(join(folder, 'build'))
  writeFileSync(
    join(folder, 'build', 'CMakeCache.txt'),
    'CMAKE_HOME_DIRECTORY:INTERNAL=/elsewhere\n',
  )
  await expect(build({ cuda: 'off' })).rejects.toThrow(/reached the compiler/)
})

describe('the addon in its place', () => {
  const release = (): string => join(folder, 'build', 'Release')
  const addon = (): string => join(release(), 'octavo.node')

  /** An addon of one function, which returns `value`; with an error of the linker where asked. */
  function writeSources(value: number, linkError = false): void {
    rmSync(join(folder, 'cpp', 'broken.cc'), { force: true })
    const register = `extern "C" __attribute__((visibility("default"))) void* `
    const source = `${register}napi_register_module_v1(void*, void*) { return reinterpret_cast<void*>(${value}L); }\n`
    writeFileSync(join(folder, 'cpp', 'addon.cc'), source)
    const twice = linkError ? source : ''
    writeFileSync(join(folder, 'cpp', 'twice.cc'), twice)
  }

  it('is another file after a rebuild: what is mapped stays as it is', async () => {
    writeSources(1)
    await build({ cuda: 'off' })
    const before = readFileSync(addon())
    const mapped = openSync(addon(), 'r')
    writeSources(2)
    await build({ cuda: 'off' })
    expect(fstatSync(mapped).ino).not.toBe(statSync(addon()).ino)
    expect(readFileSync(mapped)).toEqual(before)
    closeSync(mapped)
    expect(readFileSync(addon())).not.toEqual(before)
    expect(readdirSync(release())).toEqual(['octavo.node'])
  })

  it('stays when the linker fails', async () => {
    writeSources(1)
    await build({ cuda: 'off' })
    const before = readFileSync(addon())
    writeSources(1, true)
    await expect(build({ cuda: 'off' })).rejects.toThrow(/multiple definition/)
    expect(readFileSync(addon())).toEqual(before)
  })

  it('comes back when it was moved away', async () => {
    writeSources(1)
    await build({ cuda: 'off' })
    rmSync(addon())
    await build({ cuda: 'off' })
    expect(readdirSync(release())).toEqual(['octavo.node'])
  })
})
