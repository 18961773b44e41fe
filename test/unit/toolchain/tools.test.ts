/** Finding the tools of a build, with tools made for the test on a PATH of its own. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { buildWithCMake, findCMake } from '../../../lib/toolchain/cmake.js'
import { capture, findOnPath, runProcess } from '../../../lib/toolchain/process.js'

let folder: string
const path = process.env['PATH']

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'octavo-tools-'))
})

afterEach(() => {
  process.env['PATH'] = path
  rmSync(folder, { recursive: true })
})

function makeTool(name: string, script: string): string {
  const file = join(folder, name)
  writeFileSync(file, `#!/bin/sh\n${script}\n`)
  chmodSync(file, 0o755)
  return file
}

describe('findOnPath', () => {
  it('takes the first executable of that name', () => {
    const tool = makeTool('widget', 'exit 0')
    expect(findOnPath('widget', ['/nowhere', folder].join(delimiter))).toBe(tool)
  })

  it('leaves out files that cannot be run', () => {
    writeFileSync(join(folder, 'widget'), 'text')
    expect(findOnPath('widget', folder)).toBeNull()
    expect(findOnPath('widget', '')).toBeNull()
  })
})

describe('findCMake', () => {
  const withVersion = (version: string): ReturnType<typeof findCMake> => {
    makeTool('cmake', `echo "cmake version ${version}"`)
    process.env['PATH'] = folder
    return findCMake()
  }

  it.each(['3.24.0', '3.25.1', '4.0.2'])('takes %s', (version) => {
    expect(withVersion(version)).toEqual({ path: join(folder, 'cmake') })
  })

  it.each(['3.23.9', '2.99.0'])('says that %s is too old and what is needed', (version) => {
    expect(withVersion(version)).toEqual({
      missing: expect.stringMatching(/too old \(3\.24 is needed\)/),
    })
  })

  it('says when there is none, or one that does not run', () => {
    process.env['PATH'] = folder
    expect(findCMake()).toEqual({ missing: 'cmake is not on PATH' })
    makeTool('cmake', 'exit 1')
    expect(findCMake()).toEqual({ missing: expect.stringMatching(/does not run/) })
  })
})

describe('buildWithCMake', () => {
  const options = { cuda: 'off', jobs: 1, debug: false, onLine: () => {} } as const
  const cache = (): string => join(folder, 'build', 'CMakeCache.txt')
  const addon = (): string => join(folder, 'build', 'Release', 'octavo.node')

  function makeBuild(home: string, entries = ''): void {
    mkdirSync(join(folder, 'build', 'Release'), { recursive: true })
    mkdirSync(join(folder, 'build', 'CMakeFiles'))
    writeFileSync(cache(), `CMAKE_HOME_DIRECTORY:INTERNAL=${home}\n${entries}`)
    writeFileSync(addon(), 'works')
  }

  it('drops the cache of another folder, and keeps the addon when the build fails', async () => {
    makeBuild('/another/folder')
    const build = buildWithCMake(makeTool('cmake', 'echo broken; exit 1'), { ...options, folder })
    await expect(build).rejects.toMatchObject({ code: 'OCTAVO_BUILD_FAILED' })
    expect(existsSync(cache())).toBe(false)
    expect(existsSync(join(folder, 'build', 'CMakeFiles'))).toBe(false)
    expect(readFileSync(addon(), 'utf8')).toBe('works')
  })

  it.each(['off', 'on', 'auto', null] as const)('tells cmake %p of CUDA', async (cuda) => {
    const lines: string[] = []
    const tool = makeTool('cmake', 'echo "$@"')
    await buildWithCMake(tool, { ...options, folder, cuda, onLine: (line) => lines.push(line) })
    const [choice] = /-DOCTAVO_CUDA=\S*/.exec(lines[0]!) ?? [null] // cmake keeps what it was told before
    expect(choice).toBe(cuda === null ? null : `-DOCTAVO_CUDA=${cuda.toUpperCase()}`)
  })

  it('drops the cache of a compiler that never worked, and keeps the choices', async () => {
    const named = 'CMAKE_CUDA_COMPILER:STRING=/x/nvcc\nOCTAVO_CUDA_NAMED:INTERNAL=ON\n'
    makeBuild(
      folder,
      'CMAKE_GENERATOR:INTERNAL=Ninja\nOCTAVO_WARNINGS:BOOL=ON\nOTHER:BOOL=ON\n' + named,
    )
    const lines: string[] = []
    const tool = makeTool('cmake', 'echo "$@"')
    await buildWithCMake(tool, { ...options, folder, onLine: (line) => lines.push(line) })
    expect(existsSync(cache())).toBe(false)
    expect(lines[0]).toContain(
      ' -G Ninja -DOCTAVO_WARNINGS=ON -DCMAKE_CUDA_COMPILER=/x/nvcc -DOCTAVO_CUDA=OFF ',
    )
    expect(lines[0]).not.toContain('OTHER')
  })

  it('keeps the cache of its own folder', async () => {
    const compiler = `CMAKE_CXX_COMPILER:FILEPATH=${process.execPath}\nOCTAVO_CXX:INTERNAL=\n`
    makeBuild(folder, compiler)
    await buildWithCMake(makeTool('cmake', 'exit 0'), { ...options, folder })
    expect(existsSync(cache())).toBe(true)
  })
})

describe('runProcess', () => {
  it('hands over every line and keeps the last ones', async () => {
    const tool = makeTool('talk', 'echo one; echo two >&2; exit 3')
    const lines: string[] = []
    const { status, tail } = await runProcess(tool, [], folder, (line) => lines.push(line))
    expect(status).toBe(3)
    expect(lines.sort()).toEqual(['one', 'two'])
    expect(tail.sort()).toEqual(['one', 'two'])
  })

  it('keeps at most 60 lines', async () => {
    const tool = makeTool('talk', 'i=0; while [ $i -lt 100 ]; do echo $i; i=$((i+1)); done')
    const { tail } = await runProcess(tool, [], folder, () => {})
    expect([tail.length, tail[0], tail.at(-1)]).toEqual([60, '40', '99'])
  })

  it('hands a signal to all that the command started, and says which it was', async () => {
    const tool = makeTool('wait', 'sleep 1000 & echo started; wait')
    const tell = (): unknown => process.emit('SIGTERM', 'SIGTERM')
    // It ends only when nobody holds its stdout any more: neither the tool nor its child.
    await expect(runProcess(tool, [], folder, tell)).rejects.toMatchObject({ signal: 'SIGTERM' })
    expect(process.listenerCount('SIGTERM')).toBe(0)
  })

  it('kills at the second signal what does not heed the first', async () => {
    const tool = makeTool('stay', 'trap "echo no" TERM; echo started; while :; do sleep 1; done')
    const tell = (): unknown => process.emit('SIGTERM', 'SIGTERM')
    await expect(runProcess(tool, [], folder, tell)).rejects.toMatchObject({ signal: 'SIGTERM' })
  })

  it('rejects when the command cannot be started', async () => {
    await expect(runProcess(join(folder, 'none'), [], folder, () => {})).rejects.toThrow(/ENOENT/)
  })

  it('answers a command that a signal ended with a status that is no success', async () => {
    const { status } = await runProcess(makeTool('die', 'kill -9 $$'), [], folder, () => {})
    expect(status).toBe(128)
  })
})

it('captures what a command prints, and null for one that fails', () => {
  expect(capture(makeTool('say', 'echo " word "'), [])).toBe('word')
  expect(capture(makeTool('fail', 'echo word; exit 1'), [])).toBeNull()
  expect(capture(join(folder, 'none'), [])).toBeNull()
})
