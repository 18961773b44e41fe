/** `npm pack` in a clone that has built no addon for the package. */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const root = join(__dirname, '..', '..', '..')
let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'octavo-prepack-'))
  mkdirSync(join(folder, 'scripts'))
  cpSync(join(root, 'scripts', 'prepack.cjs'), join(folder, 'scripts', 'prepack.cjs'))
})
afterEach(() => rmSync(folder, { recursive: true }))

function prepack(environment: NodeJS.ProcessEnv = {}): { status: number | null; stderr: string } {
  const env = { ...process.env, OCTAVO_PACK_WITHOUT_ADDON: '', ...environment }
  const script = join(folder, 'scripts', 'prepack.cjs')
  const { status, stderr } = spawnSync(process.execPath, [script], { env, encoding: 'utf8' })
  return { status, stderr }
}

it('is what npm runs', () => {
  const text = readFileSync(join(root, 'package.json'), 'utf8')
  const { scripts } = JSON.parse(text) as { scripts: Record<string, string> }
  expect(scripts['prepack']).toBe('node scripts/prepack.cjs')
})

it('stops and says what to do', () => {
  for (const made of [[], ['prebuilds'], ['prebuilds', 'prebuilds/linux-x64']]) {
    for (const name of made) mkdirSync(join(folder, name), { recursive: true })
    const { status, stderr } = prepack()
    expect(status).toBe(1)
    expect(stderr).toMatch(/holds no addon, .*npm run prebuilds.*OCTAVO_PACK_WITHOUT_ADDON=1/)
  }
})

it('goes on where there is one, and names it', () => {
  mkdirSync(join(folder, 'prebuilds', 'linux-x64'), { recursive: true })
  writeFileSync(join(folder, 'prebuilds', 'linux-x64', 'octavo.glibc.node'), 'an addon')
  const { status, stderr } = prepack()
  expect(status).toBe(0)
  expect(stderr).toContain(join('linux-x64', 'octavo.glibc.node'))
})

it('takes neither an empty file nor a folder for one', () => {
  mkdirSync(join(folder, 'prebuilds', 'octavo.other.node'), { recursive: true })
  writeFileSync(join(folder, 'prebuilds', 'octavo.node'), '')
  expect(prepack().status).toBe(1)
})

it('goes on where one is not wanted', () => {
  const { status, stderr } = prepack({ OCTAVO_PACK_WITHOUT_ADDON: '1' })
  expect(status).toBe(0)
  expect(stderr).toContain('packed without an addon')
})
