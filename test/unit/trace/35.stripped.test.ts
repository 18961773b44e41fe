/**
 * Stacks of an addon that was stripped: as prebuilds are, it names its functions; of one without any symbol, module
 * and offset lead to the same names in the file before it was stripped.
 */
import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const root = join(__dirname, '..', '..', '..')
const addon = join(process.env['OCTAVO_PREBUILD'] ?? root, 'build', 'Release', 'octavo.node')
const { stripAddon } = require(join(root, 'scripts', 'strip-addon.cjs')) as {
  stripAddon: (file: string) => void
}

interface Frame {
  function: string
  module: string
  offset: number
}

/** Allocates from an addon of its own, and prints the frames of the trace. */
const program = `
  const addon = { exports: {} }
  process.dlopen(addon, process.argv[1])
  const { Memory, Trace } = addon.exports.testing
  const memory = new Memory('cpu')
  const options = { level: 2, ringEvents: 64, sampleBytes: 1, spillBytes: 0 }
  const trace = new Trace(options, memory)
  memory.allocate('workspace', 1000, 'session', 1, 'held')
  const { frames } = trace.snapshot()
  console.log(JSON.stringify(frames))
`

const framesOf = (file: string): Frame[] =>
  JSON.parse(execFileSync(process.execPath, ['-e', program, file], { encoding: 'utf8' })) as Frame[]

/** The function that the symbol table of the file before it was stripped has at an offset. */
function functionAt(offset: number): string | undefined {
  const symbols = execFileSync('nm', ['-CS', '--defined-only', addon], {
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
  })
  for (const [, start, size, name] of symbols.matchAll(/^(\w+) (\w+) [tTwW] (.*)$/gm)) {
    const from = Number(`0x${start}`)
    if (from <= offset && offset < from + Number(`0x${size}`)) return name
  }
  return undefined
}

/** What addr2line makes of it, inlined functions included. */
const lineOf = (offset: number): string =>
  execFileSync('addr2line', ['-Cife', addon, `0x${offset.toString(16)}`], { encoding: 'utf8' })

const ours = (frames: Frame[], file: string): Frame[] =>
  frames.filter(({ module }) => module === file)

const onLinux = process.platform === 'linux' ? describe : describe.skip

onLinux('an addon', () => {
  let folder: string
  let copy: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'octavo-stripped-'))
    copy = join(folder, 'octavo.node')
    copyFileSync(addon, copy)
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  it('stripped as prebuilds are names every function of its own', () => {
    stripAddon(copy)
    const frames = ours(framesOf(copy), copy)
    const names = frames.map((frame) => frame.function)
    expect(names).not.toContain('')
    expect(names.join('\n')).toMatch(/octavo::DeviceAllocator::allocate\(/)
    expect(names.join('\n')).toMatch(/octavo::testing::MemoryHandle::allocate\(/)
  })

  it('without any symbol gives offsets that lead to the same names', () => {
    const named = ours(framesOf(copy), copy)
    execFileSync('strip', ['--strip-all', copy])
    const bare = ours(framesOf(copy), copy)
    expect(bare.map((frame) => frame.function)).toEqual(named.map(() => ''))
    expect(bare.map(({ offset }) => offset)).toEqual(named.map(({ offset }) => offset))
    expect(bare.map(({ offset }) => functionAt(offset))).toEqual(
      named.map((frame) => frame.function),
    )
    expect(bare.map(({ offset }) => lineOf(offset)).join('')).toMatch(/DeviceAllocator::allocate/)
  })
})
