/** The checks of the house on a house made for the test, with one fault at a time. */
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

const scripts = join(__dirname, '..', '..', '..', 'scripts')
let house: string

beforeEach(() => {
  house = mkdtempSync(join(tmpdir(), 'octavo-house-'))
  mkdirSync(join(house, 'scripts'))
  for (const name of ['floors.cjs', 'sizes.cjs', 'source-files.cjs']) {
    copyFileSync(join(scripts, name), join(house, 'scripts', name))
  }
})

afterEach(() => rmSync(house, { recursive: true }))

function write(file: string, text: string): void {
  mkdirSync(dirname(join(house, file)), { recursive: true })
  writeFileSync(join(house, file), text)
}

function check(script: string): { status: number | null; stderr: string; stdout: string } {
  const { status, stderr, stdout } = spawnSync(process.execPath, [join(house, 'scripts', script)], {
    encoding: 'utf8',
  })
  return { status, stderr, stdout }
}

describe('floors', () => {
  it('accepts a house in order', () => {
    write('cpp/base/a.h', '// abort() and exit() are not called here\n#include "base/b.h"\n')
    write('cpp/kv/c.cc', '#include "base/a.h"\n#include <vector>\n')
    write('lib/errors.ts', 'export const a = 1\n')
    write('lib/engine.ts', "import { a } from './errors.js'\nexport const b = a\n")
    expect(check('floors.cjs')).toMatchObject({ status: 0, stderr: '' })
  })

  it.each([
    ['cpp/base/a.h', '#include "kv/block_pool.h"', /a\.h:1: base includes kv\/block_pool\.h/],
    ['cpp/ops/a.cc', '\n#include "cuda/device/x.h"', /a\.cc:2: cpp\/ includes cuda\//],
    ['cuda/gemm/a.cu', 'cudaMalloc(&p, 4);', /device memory is taken in cuda\/device alone/],
    ['cuda/gemm/a.cu', '  asm volatile("bar.sync 1;");', /inline PTX stands in cuda\/ptx alone/],
    ['cpp/engine/a.cc', '  std::abort();', /end the host process/],
    ['cpp/engine/a.cc', '  assert(x);', /end the host process/],
    ['lib/a.ts', '// TO' + 'DO: later', /unfinished mark/],
    ['test/a.test.ts', 'it.on' + "ly('x', () => {})", /focused or unwritten test/],
    ['lib/a.ts', "import x from 'node-gyp-build'", /only lib\/native\.ts reaches the addon/],
  ])('refuses %s with %j', (file, text, complaint) => {
    write(file, `${text}\n`)
    const { status, stderr } = check('floors.cjs')
    expect(status).toBe(1)
    expect(stderr).toMatch(complaint)
  })

  it('refuses an import of the top floor, and a cycle', () => {
    write('lib/index.ts', "import { a } from './a.js'\nexport const i = a\n")
    write('lib/a.ts', "import { i } from './index.js'\nexport const a = i\n")
    const { status, stderr } = check('floors.cjs')
    expect(status).toBe(1)
    expect(stderr).toMatch(/imports lib\/index\.ts: it is the top floor/)
    expect(stderr).toMatch(/import cycle: lib\/a\.ts → lib\/index\.ts → lib\/a\.ts/)
  })

  it('lets types point anywhere', () => {
    write('lib/index.ts', "import { a } from './a.js'\nexport type I = typeof a\n")
    write('lib/a.ts', "import type { I } from './index.js'\nexport const a: I | null = null\n")
    expect(check('floors.cjs')).toMatchObject({ status: 0, stderr: '' })
  })
})

describe('sizes', () => {
  it('prints median, p90 and largest', () => {
    for (let lines = 1; lines <= 10; lines++) write(`lib/f${lines}.ts`, 'x\n'.repeat(lines * 10))
    const { status, stdout } = check('sizes.cjs')
    expect(status).toBe(0)
    expect(stdout).toMatch(/^\| lib \| 10 \| 550 \| 60 \| 100 \| 100 \|$/m)
  })

  it('refuses a file over 500 lines', () => {
    write('cpp/base/long.cc', '\n'.repeat(501))
    write('cpp/base/fits.cc', '\n'.repeat(500))
    const { status, stderr } = check('sizes.cjs')
    expect(status).toBe(1)
    expect(stderr.trim()).toBe('cpp/base/long.cc: 501 lines; the limit is 500, split it by noun')
  })
})
