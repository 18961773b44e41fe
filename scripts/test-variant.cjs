// Runs the suite on another build of the addon. `asan`: AddressSanitizer, warnings as errors, CPU only.
// `gyp`: binding.gyp through node-gyp, as `octavo build` does without cmake. `emulated`: test/gpu on a CUDA device that
// test/emulator emulates (OCTAVO_EMULATED_ARCHITECTURE=80: as an A100). Further arguments go to jest.
'use strict'
const { execFileSync, spawnSync } = require('node:child_process')
const { cpSync, existsSync, mkdirSync, rmSync, symlinkSync } = require('node:fs')
const { join } = require('node:path')

const root = join(__dirname, '..')
const [variant, ...jestArguments] = process.argv.slice(2)
// node-gyp-build looks in OCTAVO_PREBUILD/build/Release.
const folder = join(root, `build-${variant}`)

function run(command, args, options = {}) {
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: 'inherit', ...options })
  if (error) throw error
  if (status !== 0) throw new Error(`${command} ${args[0]} … ended with status ${status}`)
}

function buildAsan() {
  const out = join(folder, 'build')
  const generator = existsSync(join(out, 'CMakeCache.txt')) ? [] : ['-G', 'Ninja']
  const options = ['-DOCTAVO_CUDA=OFF', '-DOCTAVO_SANITIZE=ON', '-DOCTAVO_WARNINGS=ON']
  run('cmake', ['-S', root, '-B', out, ...generator, ...options])
  run('cmake', ['--build', out, '--parallel', '2'])
  const preload = execFileSync('g++', ['-print-file-name=libasan.so'], { encoding: 'utf8' }).trim()
  // Leaks are counted by the tests themselves (ledger, liveObjects): node keeps memory to its end.
  return {
    LD_PRELOAD: preload,
    ASAN_OPTIONS: 'detect_leaks=0:abort_on_error=1:allocator_may_return_null=1',
  }
}

function buildGyp() {
  mkdirSync(folder, { recursive: true })
  for (const name of ['package.json', 'binding.gyp', 'cpp', 'memtrace', 'scripts']) {
    rmSync(join(folder, name), { recursive: true, force: true })
    cpSync(join(root, name), join(folder, name), { recursive: true, preserveTimestamps: true })
  }
  const modules = join(folder, 'node_modules')
  if (!existsSync(modules)) symlinkSync(join(root, 'node_modules'), modules)
  const { buildWithNodeGyp, findNodeGyp } = require('../dist/toolchain/gyp.js')
  const options = {
    folder,
    cuda: 'off',
    jobs: 2,
    debug: false,
    onLine: (line) => console.error(line),
  }
  return buildWithNodeGyp(findNodeGyp(folder), options).then(() => ({}))
}

function buildEmulated() {
  const out = join(folder, 'build')
  const generator = existsSync(join(out, 'CMakeCache.txt')) ? [] : ['-G', 'Ninja']
  const architecture = process.env.OCTAVO_EMULATED_ARCHITECTURE ?? '90'
  const options = [`-DOCTAVO_EMULATED_ARCHITECTURE=${architecture}`, '-DOCTAVO_WARNINGS=ON']
  run('cmake', ['-S', join(root, 'test', 'emulator'), '-B', out, ...generator, ...options])
  run('cmake', ['--build', out, '--parallel', '2'])
  jestArguments.unshift('-c', join(root, 'test', 'gpu', 'jest.config.cjs'))
  return {}
}

async function main() {
  const build = { asan: buildAsan, gyp: buildGyp, emulated: buildEmulated }[variant]
  if (build === undefined)
    throw new Error(`'${variant}' is no variant; there are asan, gyp and emulated`)
  const environment = { ...process.env, OCTAVO_PREBUILD: folder, ...(await build()) }
  run(process.execPath, [require.resolve('jest/bin/jest'), ...jestArguments], { env: environment })
}

main().catch((error) => {
  console.error(`octavo: ${error.message}`)
  process.exitCode = 1
})
