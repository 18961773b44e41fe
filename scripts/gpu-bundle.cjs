#!/usr/bin/env node
/*
Makes a folder that runs test/gpu on another machine with an NVIDIA card: no npm, no compiler, no network there.

  node scripts/gpu-bundle.cjs [--out .gpu] [--tests test/gpu]… [--addon build/Release/octavo.node]
                              [--shared PATH=NAME]… [--model PATH=NAME]… [--piece-mb 60]

  OUT/run.sh       unpacks everything to $OCTAVO_GPU_HOME (default /tmp/octavo-gpu) once and runs jest;
                   arguments go to jest: sh run.sh 21-linear -t bf16
  OUT/node.sh      the same, and runs node in the unpacked folder: sh node.sh --expose-gc scripts/bench/memory.cjs
  OUT/node.xz      this node, stripped
  OUT/app.tar.xz   addon, lib and tests compiled to JavaScript, scripts/, models/, jest and our dependencies, and what
                   --shared names: small files that tests look for under shared/NAME (test/shared.ts)
  OUT/models/…     with --model only: pieces of at most --piece-mb each, their checksums, and keep.sh

node.xz and app.tar.xz together stay under 60 MB (checked). A bigger model travels apart, one piece or several a
journey: `sh models/keep.sh` there takes the pieces that have come and, once all of a model's have, checks and joins
them to shared/NAME. For example, the real chat model of the tests:

  node scripts/gpu-bundle.cjs --shared ../shared/tools/expand-gguf.mjs=tools/expand-gguf.mjs \
                              --model ../shared/models/smollm2-135m=models/smollm2-135m
*/
'use strict'
const { execFileSync } = require('node:child_process')
const { createHash } = require('node:crypto')
const fs = require('node:fs')
const { basename, dirname, join, relative, resolve } = require('node:path')
const { parseArgs } = require('node:util')

const root = join(__dirname, '..')
const maximumBytes = 60e6

const { values: options } = parseArgs({
  options: {
    out: { type: 'string', default: '.gpu' },
    tests: { type: 'string', multiple: true, default: ['test/gpu'] },
    addon: { type: 'string', default: 'build/Release/octavo.node' },
    shared: { type: 'string', multiple: true, default: [] },
    model: { type: 'string', multiple: true, default: [] },
    'piece-mb': { type: 'string', default: '60' },
  },
})

function fail(message) {
  console.error(`gpu-bundle: ${message}`)
  process.exit(1)
}

/** `PATH=NAME` */
function pair(argument) {
  const [from, to] = argument.split('=')
  if (!to) fail(`${argument} is not of the form PATH=NAME`)
  if (!fs.existsSync(from)) fail(`${from} does not exist`)
  return { from: fs.realpathSync(from), to }
}

/** Folders of node_modules that `names` need, through the lock file. */
function dependencyFolders(names) {
  const { packages } = JSON.parse(fs.readFileSync(join(root, 'package-lock.json'), 'utf8'))
  const found = new Set()
  const locate = (from, name) => {
    for (let folder = from; ;) {
      const key = `${folder ? `${folder}/` : ''}node_modules/${name}`
      if (packages[key]) return key
      if (!folder) return undefined
      folder = folder.slice(0, Math.max(0, folder.lastIndexOf('node_modules/') - 1))
    }
  }
  const visit = (from, name) => {
    const key = locate(from, name)
    if (!key || found.has(key) || !fs.existsSync(join(root, key))) return
    found.add(key)
    const { dependencies, optionalDependencies } = packages[key]
    for (const next of Object.keys({ ...dependencies, ...optionalDependencies })) visit(key, next)
  }
  for (const name of names) visit('', name)
  return [...found]
}

function copy(from, to, filter) {
  fs.cpSync(from, to, { recursive: true, dereference: true, filter })
}

/** lib and the tests as JavaScript, and whatever else lies in the folders of tests, in their places. */
function compile(stage) {
  const config = join(stage, 'tsconfig.json')
  const include = ['lib', ...options.tests].map((folder) => join(root, folder))
  const compilerOptions = {
    rootDir: root,
    outDir: stage,
    noEmit: false,
    declaration: false,
    typeRoots: [join(root, 'node_modules', '@types')],
  }
  const settings = { extends: join(root, 'test/tsconfig.json'), compilerOptions, include }
  fs.writeFileSync(config, JSON.stringify(settings))
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  execFileSync(process.execPath, [tsc, '-p', config], { stdio: 'inherit', cwd: root })
  fs.rmSync(config)
  copy(join(root, 'test'), join(stage, 'test'), (path) => !/\.(ts|cjs)$/.test(path))
}

function writeApp(stage) {
  compile(stage)
  const addon = join(stage, 'build/Release/octavo.node')
  fs.mkdirSync(dirname(addon), { recursive: true })
  execFileSync('strip', ['-o', addon, resolve(root, options.addon)])
  for (const name of ['package.json', 'models', 'scripts'])
    copy(join(root, name), join(stage, name))
  fs.symlinkSync('lib', join(stage, 'dist')) // where benchmarks look for the library
  const { dependencies } = JSON.parse(fs.readFileSync(join(root, 'package.json'), 'utf8'))
  const skipped = /\.(map|md|d\.ts|d\.mts|d\.cts)$/
  for (const folder of dependencyFolders([...Object.keys(dependencies), 'jest'])) {
    copy(join(root, folder), join(stage, folder), (path) => {
      const inner = relative(join(root, folder), path)
      return !skipped.test(path) && !inner.split('/').includes('node_modules')
    })
  }
  const config = {
    testEnvironment: 'node',
    roots: options.tests.map((folder) => `<rootDir>/${folder}`),
    testMatch: ['**/*.test.js'],
    transform: {},
    testTimeout: 300000,
    maxWorkers: 1,
  }
  fs.writeFileSync(
    join(stage, 'jest.config.cjs'),
    `module.exports = ${JSON.stringify(config, null, 2)}\n`,
  )
}

/** Unpacks once, then does `command` in the unpacked folder. */
const script = (purpose, command) => `#!/bin/sh
# Unpacks this bundle once and ${purpose}.
set -e
here=$(cd "$(dirname "$0")" && pwd)
home=\${OCTAVO_GPU_HOME:-/tmp/octavo-gpu}
stamp=$(cksum "$here/node.xz" "$here/app.tar.xz" | cut -d ' ' -f 1,2 | tr '\\n' ' ')
if [ "$(cat "$home/stamp" 2>/dev/null)" != "$stamp" ]; then
  rm -rf "$home/app" "$home/stamp"
  mkdir -p "$home"
  xz -dc "$here/node.xz" > "$home/node"
  chmod +x "$home/node"
  xz -dc "$here/app.tar.xz" | tar -xf - -C "$home"
  echo "$stamp" > "$home/stamp"
fi
cd "$home/app"
exec "$home/node" ${command} "$@"
`

const scripts = {
  'run.sh': script('runs its tests; arguments go to jest', 'node_modules/jest/bin/jest.js --ci'),
  'node.sh': script('runs node in it with the arguments given', ''),
}

const keepScript = `#!/bin/sh
# Takes the pieces that lie beside this script; checks and joins a model once all its pieces have come.
set -e
here=$(cd "$(dirname "$0")" && pwd)
home=\${OCTAVO_GPU_HOME:-/tmp/octavo-gpu}
mkdir -p "$home/pieces" "$home/shared"
cp "$here"/* "$home/pieces"
cd "$home/pieces"
for sums in *.sums; do
  name=$(basename "$sums" .sums)
  [ -e "$name.done" ] && continue
  if sha256sum -c --quiet "$sums" 2>/dev/null; then
    cut -c 67- "$sums" | xargs cat | tar -xf - -C "$home/shared"
    cut -c 67- "$sums" | xargs rm
    touch "$name.done"
    echo "$name: complete"
  else
    echo "$name: waiting for more pieces"
  fi
done
`

/** One tar of the model, its names below NAME, in pieces, and their checksums. */
function writePieces(folder, { from, to }) {
  const name = to.replaceAll('/', '-')
  const tar = join(folder, `${name}.tar`)
  const rename = `s,^${basename(from)},${to},`
  execFileSync('tar', ['-chf', tar, '--transform', rename, '-C', dirname(from), basename(from)])
  const size = Number(options['piece-mb']) * 1e6
  const file = fs.openSync(tar)
  const sums = []
  for (let piece = 0; ; piece++) {
    const bytes = Buffer.alloc(size)
    const length = fs.readSync(file, bytes, 0, size, piece * size)
    if (length === 0) break
    const content = bytes.subarray(0, length)
    const pieceName = `${name}.${String(piece).padStart(3, '0')}`
    fs.writeFileSync(join(folder, pieceName), content)
    sums.push(`${createHash('sha256').update(content).digest('hex')}  ${pieceName}`)
  }
  fs.closeSync(file)
  fs.rmSync(tar)
  fs.writeFileSync(join(folder, `${name}.sums`), `${sums.join('\n')}\n`)
  console.log(`${to}: ${sums.length} pieces`)
}

function isNewer(path, than) {
  return fs.statSync(path).mtimeMs > fs.statSync(than).mtimeMs
}

function main() {
  const out = resolve(root, options.out)
  const stage = join(out, 'stage')
  fs.rmSync(stage, { recursive: true, force: true })
  fs.mkdirSync(stage, { recursive: true })
  if (!fs.existsSync(resolve(root, options.addon)))
    fail(`there is no addon at ${options.addon}: build it first`)
  fs.mkdirSync(join(stage, 'app'))
  writeApp(join(stage, 'app'))
  for (const { from, to } of options.shared.map(pair)) copy(from, join(stage, 'shared', to))
  const shell = (command) => execFileSync('sh', ['-c', command], { stdio: 'inherit' })
  shell(`tar -cf - -C '${stage}' . | xz -6 -T0 > '${join(out, 'app.tar.xz')}'`)
  fs.rmSync(stage, { recursive: true })
  const node = join(out, 'node')
  const isPacked = fs.existsSync(`${node}.xz`) && isNewer(`${node}.xz`, process.execPath)
  if (!isPacked) {
    execFileSync('strip', ['-o', node, process.execPath])
    shell(`xz -6 -T0 -f '${node}'`)
  }
  for (const [name, text] of Object.entries(scripts)) fs.writeFileSync(join(out, name), text)
  const bytes = ['node.xz', 'app.tar.xz'].map((name) => fs.statSync(join(out, name)).size)
  console.log(
    `node.xz ${bytes[0]} bytes, app.tar.xz ${bytes[1]} bytes, in ${relative(root, out) || '.'}`,
  )
  if (bytes[0] + bytes[1] > maximumBytes)
    fail(`${bytes[0] + bytes[1]} bytes, more than ${maximumBytes}`)
  if (options.model.length === 0) return
  const models = join(out, 'models')
  fs.rmSync(models, { recursive: true, force: true })
  fs.mkdirSync(models)
  fs.writeFileSync(join(models, 'keep.sh'), keepScript)
  for (const model of options.model.map(pair)) writePieces(models, model)
}

main()
