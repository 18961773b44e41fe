/**
 * Every ts and js block is type-checked as it stands and run against dist/ in a process of its own, and
 * every `npx octavo` line of an sh block is run: each ends with status 0 and without a warning. They run in
 * a folder that holds `models/` and, where it has been expanded (`.ci/run` does), `smollm2-135m/`.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { allBlocks, root, type Block } from './blocks.js'

const folder = join(root, '.cache', `examples-${process.pid}`)
const chatModel = join(root, '.cache', 'smollm2-135m')
const command = join(root, 'dist', 'cli', 'index.js')
const blocks = allBlocks()
const programs = blocks.filter(({ language }) => language !== 'sh')
const fileOf = (block: Block): string =>
  join(folder, `${block.place.replace(/\W+/g, '-')}.${block.language === 'ts' ? 'mts' : 'mjs'}`)

const options: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.Node16,
  moduleResolution: ts.ModuleResolutionKind.Node16,
  lib: ['lib.es2023.d.ts'],
  types: ['node'],
  strict: true,
  skipLibCheck: true,
}

beforeAll(() => {
  mkdirSync(folder, { recursive: true })
  symlinkSync(join(root, 'models'), join(folder, 'models'))
  if (existsSync(chatModel)) symlinkSync(chatModel, join(folder, 'smollm2-135m'))
  for (const block of programs) writeFileSync(fileOf(block), block.code)
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

function run(program: string, args: string[]): void {
  const env = { ...process.env, NODE_OPTIONS: '' }
  const result = spawnSync(program, args, { cwd: folder, env, input: '', encoding: 'utf8', timeout: 110_000 })
  const { status, signal, stderr } = result
  expect({ status, signal, stderr: status === 0 ? '' : stderr }).toEqual({ status: 0, signal: null, stderr: '' })
  expect(stderr).not.toMatch(/Warning:/)
}

const needsChatModel = (code: string): boolean => code.includes('smollm2-135m')
const testFor = (code: string): jest.It => (needsChatModel(code) && !existsSync(chatModel) ? it.skip : it)

it('finds the examples', () => {
  expect(programs.length).toBeGreaterThan(15)
  expect(blocks.filter(({ place }) => place.startsWith('README.md'))).not.toHaveLength(0)
})

it('type-checks them', () => {
  const files = programs.filter(({ language }) => language === 'ts').map(fileOf)
  const program = ts.createProgram(files, options)
  const host: ts.FormatDiagnosticsHost = {
    getCanonicalFileName: (name) => name,
    getCurrentDirectory: () => folder,
    getNewLine: () => '\n',
  }
  expect(ts.formatDiagnostics(ts.getPreEmitDiagnostics(program), host)).toBe('')
})

describe('the program at', () => {
  for (const block of programs) {
    testFor(block.code)(block.place, () => {
      const file = fileOf(block)
      if (block.language === 'js') return run(process.execPath, [file])
      const output = file.replace(/mts$/, 'mjs')
      const compilerOptions = { ...options, module: ts.ModuleKind.ESNext }
      writeFileSync(output, ts.transpileModule(block.code, { compilerOptions }).outputText)
      run(process.execPath, [output])
    })
  }
})

describe('the command', () => {
  const lines = blocks
    .filter(({ language }) => language === 'sh')
    .flatMap(({ place, code }) => code.split('\n').map((line) => ({ place, line })))
    .filter(({ line }) => /(^|&& )npx octavo (?!build)/.test(line))
  for (const { place, line } of lines) {
    testFor(line)(`${line} (${place})`, () => {
      const start = line.indexOf('npx octavo')
      const runnable = line.slice(start).replaceAll('npx octavo', `"${process.execPath}" "${command}"`)
      run('sh', ['-c', runnable])
    })
  }
})
