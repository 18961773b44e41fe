/** What TypeScript makes of the package in projects of others: every way of resolving, and the settings we name. */
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { root } from './blocks.js'

const folder = join(root, '.cache', `types-${process.pid}`)

beforeAll(() => {
  mkdirSync(join(folder, 'node_modules'), { recursive: true })
  symlinkSync(root, join(folder, 'node_modules', 'octavo'))
  const types = join(root, 'node_modules', '@types')
  symlinkSync(types, join(folder, 'node_modules', '@types'))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** What the compiler says of a program, '' where it has nothing to say. */
function complaints(name: string, code: string, options: ts.CompilerOptions): string {
  const file = join(folder, name)
  writeFileSync(file, code)
  const host: ts.FormatDiagnosticsHost = {
    getCanonicalFileName: (path) => path,
    getCurrentDirectory: () => folder,
    getNewLine: () => '\n',
  }
  const program = ts.createProgram([file], { strict: true, noEmit: true, ...options })
  return ts.formatDiagnostics(ts.getPreEmitDiagnostics(program), host)
}

const both = `
import { Engine, type GenerationResult } from 'octavo'
import { Device, type DeviceBuffer } from 'octavo/ops'
export const load: (path?: string) => Promise<Engine> = (path) => Engine.load(path)
export const open = (): DeviceBuffer<'fp32'> => Device.open('cpu').buffer('fp32', [2, 2])
export const textOf = ({ text }: GenerationResult): string => text
`

const { ModuleKind, ModuleResolutionKind, ScriptTarget } = ts
const common = { target: ScriptTarget.ES2022, lib: ['lib.es2022.d.ts'], types: ['node'] }

it.each([
  ['node10', { module: ModuleKind.CommonJS, moduleResolution: ModuleResolutionKind.Node10 }],
  ['node16', { module: ModuleKind.Node16, moduleResolution: ModuleResolutionKind.Node16 }],
  ['nodenext', { module: ModuleKind.NodeNext, moduleResolution: ModuleResolutionKind.NodeNext }],
  ['bundler', { module: ModuleKind.ESNext, moduleResolution: ModuleResolutionKind.Bundler }],
])('both entries resolve with %s', (name, options) => {
  expect(complaints(`${name}.ts`, both, { ...common, ...options })).toBe('')
})

it('the ten lines compile with the settings that the page of the install names', () => {
  const block = (file: string, language: string): string =>
    new RegExp('```' + language + '\\n([\\s\\S]*?)```').exec(readFileSync(join(root, file), 'utf8'))![1]!
  const settings = JSON.parse(block('docs/install.md', 'json')) as { compilerOptions: object }
  const { options, errors } = ts.convertCompilerOptionsFromJson(settings.compilerOptions, folder)
  expect(errors).toEqual([])
  expect(complaints('ten-lines.ts', block('README.md', 'ts'), options)).toBe('')
})
