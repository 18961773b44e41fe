/** What CI says of the CUDA sources. */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'

interface Script {
  findNvcc: (environment: NodeJS.ProcessEnv, defaultFolder: string) => string | undefined
  judge: (nvcc: string | undefined, cuda: boolean) => { failed: boolean; sentence: string }
}

const { findNvcc, judge } = require('../../../scripts/check-cuda.cjs') as Script

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'octavo-nvcc-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

function install(toolkit: string): string {
  const bin = join(folder, toolkit, 'bin')
  mkdirSync(bin, { recursive: true })
  const nvcc = join(bin, 'nvcc')
  writeFileSync(nvcc, '')
  chmodSync(nvcc, 0o755)
  return nvcc
}

it('finds nvcc where cmake does: the toolkit that is named, PATH, the usual place', () => {
  const usual = join(folder, 'usual')
  const path = ['/nowhere', join(folder, 'path', 'bin')].join(delimiter)
  const environment = { CUDA_PATH: join(folder, 'named'), PATH: path }
  expect(findNvcc(environment, usual)).toBeUndefined()
  for (const toolkit of ['usual', 'path', 'named']) {
    const nvcc = install(toolkit)
    expect(findNvcc(environment, usual)).toBe(nvcc)
  }
})

it('fails at a build without CUDA where nvcc is', () => {
  expect(judge('/x/nvcc', false)).toEqual({
    failed: true,
    sentence: 'nvcc is /x/nvcc, but the build that is tested has no CUDA',
  })
})

it('says loudly that nothing of CUDA was compiled where nvcc is missing', () => {
  const { failed, sentence } = judge(undefined, false)
  expect(failed).toBe(false)
  expect(sentence).toMatch(/NO NVCC HERE: CUDA SOURCES WERE NOT COMPILED/)
})

it('is content with a CUDA build', () => {
  expect(judge('/x/nvcc', true).failed).toBe(false)
  expect(judge(undefined, true).failed).toBe(false)
})
