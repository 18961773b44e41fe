/** The packed tarball in an empty project: what is in it, and that it runs without a compiler. */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createConsumer, createPathWithout, root, type Consumer } from './consumer.js'
import { startRegistry } from './registry.js'

jest.setTimeout(1_800_000)

interface Packed {
  filename: string
  size: number
  unpackedSize: number
  files: { path: string; size: number }[]
}

/** The story that llama2.c publishes, greedy from an empty prompt. */
const [golden] = JSON.parse(
  readFileSync(join(root, 'models/stories260k/golden-greedy.json'), 'utf8'),
) as [{ text: string }]
const prompt = 'Once upon a time'

let packed: Packed
let consumer: Consumer
let installOutput: string

function npm(...args: string[]): string {
  return execFileSync('npm', args, {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

beforeAll(async () => {
  rmSync(join(root, 'prebuilds'), { recursive: true, force: true })
  npm('run', 'prebuilds')
  packed = (JSON.parse(npm('pack', '--json', '--ignore-scripts')) as Packed[])[0]!
  // prebuildify moved the binary away: put it back for whatever runs after this.
  npm('run', 'build')
  consumer = createConsumer()
  const tarball = join(root, packed.filename)
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    name: string
    version: string
  }
  await using registry = await startRegistry(manifest, tarball)
  const result = await consumer.run('npm', ['install', 'octavo', '--registry', registry.url])
  installOutput = result.stdout + result.stderr
  rmSync(tarball)
})

afterAll(() => {
  consumer?.[Symbol.dispose]()
})

describe('the tarball', () => {
  it('holds what a user needs', () => {
    const paths = packed.files.map(({ path }) => path)
    expect(paths).toEqual(
      expect.arrayContaining([
        'LICENSE',
        'README.md',
        'CMakeLists.txt',
        'binding.gyp',
        'scripts/sources.cjs',
        'cpp/exports.map',
        'memtrace/CMakeLists.txt',
        'memtrace/exports.map',
        'dist/index.js',
        'dist/index.d.ts',
        'dist/ops/index.d.ts',
        'dist/cli/index.js',
        'models/stories260k/config.json',
        'models/stories260k/model.safetensors',
        'models/stories260k/tokenizer.json',
        `prebuilds/${process.platform}-${process.arch}/octavo.glibc.node`,
        `prebuilds/${process.platform}-${process.arch}/octavo-memtrace.so`,
      ]),
    )
  })

  it('holds nothing else', () => {
    const stray = packed.files
      .map(({ path }) => path)
      .filter(
        (path) =>
          !/^(dist|prebuilds|models|viewer|cpp|cuda|memtrace)\/|^scripts\/sources\.cjs$|^[\w.]+$/.test(
            path,
          ),
      )
    expect(stray).toEqual([])
    const unwanted = packed.files.filter(({ path }) =>
      /\.test\.|tsbuildinfo|\.built$|\.map\.js|\.md$/.test(path),
    )
    expect(unwanted.map(({ path }) => path).sort()).toEqual([
      'README.md',
      'models/stories260k/README.md',
    ])
  })

  it('has every source of lib in dist, and nothing that lost its source', () => {
    const compiled = packed.files
      .map(({ path }) => path)
      .filter((path) => /^dist\/.*\.js$/.test(path))
    const sources = readdirSync(join(root, 'lib'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => `dist/${name.replace(/\.ts$/, '.js')}`)
    expect(compiled.sort()).toEqual(sources.sort())
  })

  it('carries binaries that load on any glibc from 2.34 and without a driver', () => {
    const folder = join(root, 'prebuilds', `${process.platform}-${process.arch}`)
    const binary = join(folder, 'octavo.glibc.node')
    for (const file of [binary, join(folder, 'octavo-memtrace.so')]) {
      const check = spawnSync(process.execPath, ['scripts/check-binary.cjs', file], {
        cwd: root,
        encoding: 'utf8',
      })
      expect(check.stderr).toBe('')
      expect(check.status).toBe(0)
    }
    console.log(
      `tarball ${packed.size} bytes, unpacked ${packed.unpackedSize}, binary ${statSync(binary).size}`,
    )
  })
})

describe('an install without a compiler', () => {
  it('runs no script and warns of nothing', () => {
    expect(installOutput).toMatch(/added \d+ packages/)
    expect(installOutput).not.toMatch(/warn|ERR|gyp|octavo:/i)
    expect(readdirSync(join(consumer.folder, 'node_modules', 'octavo'))).not.toContain('build')
  })

  it('generates from require', async () => {
    const script = `
      const { Engine } = require('octavo')
      Engine.load().then(async (engine) => {
        const session = engine.createSession()
        const run = session.generate('${prompt}', { maxNewTokens: 40, temperature: 0 })
        let text = ''
        for await (const piece of run) text += piece.text
        session.dispose()
        await engine[Symbol.asyncDispose]()
        process.stdout.write(text)
      })`
    const { status, stdout, stderr } = await consumer.run('node', ['-e', script])
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expectGolden(stdout)
  })

  it('generates from import', async () => {
    writeFileSync(
      join(consumer.folder, 'generate.mjs'),
      `import { Engine, OctavoError } from 'octavo'
       import * as ops from 'octavo/ops'
       if (typeof OctavoError !== 'function' || typeof ops.Device !== 'function') throw new Error('exports')
       const engine = await Engine.load('node_modules/octavo/models/stories260k', { device: 'cpu' })
       const session = engine.createSession()
       const { text } = await session.generate('${prompt}', { maxNewTokens: 40, temperature: 0 }).result
       process.stdout.write(text)
       await engine[Symbol.asyncDispose]()`,
    )
    const { status, stdout, stderr } = await consumer.run('node', ['generate.mjs'])
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expectGolden(stdout)
  })

  const oldestNode = join(root, '.cache', 'node-20.3.0', 'bin', 'node')
  const itOnOldestNode = existsSync(oldestNode) ? it : it.skip

  itOnOldestNode('generates on the oldest Node that it names', async () => {
    expect((await consumer.run(oldestNode, ['--version'])).stdout).toBe('v20.3.0\n')
    const command = join('node_modules', 'octavo', 'dist', 'cli', 'index.js')
    const args = [command, 'generate', prompt, '--temperature', '0', '--max-new-tokens', '40']
    const { status, stdout, stderr } = await consumer.run(oldestNode, args)
    expect({ status, stderr: status === 0 ? '' : stderr }).toEqual({ status: 0, stderr: '' })
    expectGolden(stdout.trim())
  })

  it('generates from the command', async () => {
    const args = ['octavo', 'generate', prompt, '--temperature', '0', '--max-new-tokens', '40']
    const { status, stdout, stderr } = await consumer.run('npx', args)
    expect({ status, stderr: status === 0 ? '' : stderr }).toEqual({ status: 0, stderr: '' })
    expectGolden(stdout.trim())
  })

  it('is declared so that a strict TypeScript project compiles against it', async () => {
    writeFileSync(join(consumer.folder, 'consumer.mts'), consumerSource)
    const compilerOptions = {
      strict: true,
      noEmit: true,
      skipLibCheck: false,
      exactOptionalPropertyTypes: true,
      target: 'ES2022',
      lib: ['ES2023'],
      module: 'node16',
      types: ['node'],
      typeRoots: [join(root, 'node_modules', '@types')],
    }
    writeFileSync(
      join(consumer.folder, 'tsconfig.json'),
      JSON.stringify({ compilerOptions, files: ['consumer.mts'] }),
    )
    const { status, stdout } = await consumer.run('node', [
      require.resolve('typescript/bin/tsc'),
      '-p',
      '.',
    ])
    expect({ status, stdout }).toEqual({ status: 0, stdout: '' })
  })

  it('says what a source build lacks', async () => {
    const { status, stderr } = await consumer.run('npx', ['octavo', 'build'])
    expect(status).not.toBe(0)
    expect(stderr).toMatch(/OCTAVO_BUILD_FAILED/)
    expect(stderr).toMatch(/no C\+\+ compiler on PATH .*apt-get install g\+\+ cmake/)
  })
})

describe('a source build in the project', () => {
  const command = ['octavo', 'generate', prompt, '--temperature', '0', '--max-new-tokens', '40']

  const build = async (path: string | undefined, ...options: string[]): Promise<string> => {
    const { status, stderr } = await consumer.run('npx', ['octavo', 'build', ...options], {
      PATH: path,
    })
    expect({ status, stderr: status === 0 ? '' : stderr }).toEqual({ status: 0, stderr: '' })
    return stderr
  }

  it('compiles with cmake and is what loads from then on', async () => {
    await build(process.env['PATH'], '--cuda', 'off')
    const script = `console.log(require('node-gyp-build').path(require('path').dirname(require.resolve('octavo/package.json'))))`
    const loaded = await consumer.run('node', ['-e', script])
    expect(loaded.stdout).toMatch(/build\/Release\/octavo\.node\n$/)
    expectGolden((await consumer.run('npx', command)).stdout.trim())
  })

  it('compiles with the node-gyp of npm where there is no cmake, and says so', async () => {
    const folder = join(consumer.folder, 'node_modules', 'octavo', 'build')
    rmSync(folder, { recursive: true })
    const said = await build(createPathWithout('cmake', join(consumer.folder, '..', 'tools')))
    expect(said).toMatch(/octavo: cmake is not on PATH: building with node-gyp, for the CPU only/)
    expect(existsSync(join(folder, 'Release', 'octavo.node'))).toBe(true)
    expectGolden((await consumer.run('npx', command)).stdout.trim())
  })
})

/** The published greedy story continues the prompt; `text` is that continuation, cut at 40 tokens. */
function expectGolden(text: string): void {
  const story = golden.text.slice(golden.text.indexOf(prompt) + prompt.length)
  expect(text.length).toBeGreaterThan(60)
  expect(story.trimStart().startsWith(text.trimStart())).toBe(true)
}

const consumerSource = `
import { Engine, OctavoError, type ErrorCode } from 'octavo'
import { Device } from 'octavo/ops'

export async function story(): Promise<string> {
  await using engine = await Engine.load()
  using session = engine.createSession()
  let text = ''
  for await (const piece of session.generate('Once upon a time', { maxNewTokens: 8 })) text += piece.text
  return text
}

export function codeOf(error: unknown): ErrorCode | null {
  return error instanceof OctavoError ? error.code : null
}

export const open: (id: string) => Device = (id) => Device.open(id)
`
