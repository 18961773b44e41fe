// The rules of the house that a compiler does not check: who may import whom, where device memory is
// taken, and what must not stand in the sources. CONTRIBUTING.md says why.
'use strict'
const { existsSync, readFileSync } = require('node:fs')
const { dirname, join, normalize } = require('node:path')
const { sourceFiles } = require('./source-files.cjs')

/** Ground first; a file includes only its own floor and those below. */
const floors = ['base', 'device', 'memory', 'ops', 'kv', 'model', 'engine', 'binding']
/** Where a device is made: these see what stands above them, cuda/ and the ops of a device. */
const factories = [/^cpp\/device\/(factory|cpu_device)\.cc$/]

const complaints = []
const complain = (file, line, sentence) => complaints.push(`${file}:${line}: ${sentence}`)

function eachLine(file, visit) {
  readFileSync(file, 'utf8')
    .split('\n')
    .forEach((text, index) => visit(text, index + 1))
}

function checkIncludes(file) {
  const floor = floors.indexOf(file.split('/')[1])
  if (factories.some((pattern) => pattern.test(file))) return
  eachLine(file, (text, line) => {
    const target = /^\s*#include "([^"]+)"/.exec(text)?.[1]
    if (target === undefined) return
    if (/^cuda[/_]/.test(target))
      complain(file, line, `cpp/ includes cuda/ (${target}); only the device factory may`)
    const above = floors.indexOf(target.split('/')[0])
    if (above > floor)
      complain(file, line, `${floors[floor]} includes ${target}: floors import only downward`)
  })
}

const sources = ['lib', 'viewer', 'cpp', 'cuda', 'memtrace', 'test', 'scripts'].flatMap(sourceFiles)
const native = sources.filter((file) => /^(cpp|cuda)\//.test(file))

const forbidden = [
  {
    files: native.filter((file) => !file.startsWith('cuda/device/')),
    pattern: /\b(cudaMalloc\w*|cudaHostAlloc|cuMemCreate|cuMemAlloc\w*)\s*\(/,
    sentence: 'device memory is taken in cuda/device alone',
  },
  {
    files: native.filter((file) => /^cuda\/(?!ptx\/)/.test(file)),
    pattern: /\b(__asm__|asm)\s*(volatile\s*)?\(/,
    sentence: 'inline PTX stands in cuda/ptx alone, whose wrappers test/emulator emulates',
  },
  {
    files: native,
    pattern: /(^|[^\w.>])(std::)?(exit|_exit|abort|terminate)\s*\(|(^|[^\w])assert\s*\(/,
    sentence: 'exit, abort and assert end the host process: throw octavo::Error',
  },
  {
    files: sources.filter((file) => file !== 'scripts/floors.cjs'),
    pattern: /\b(TODO|FIXME|XXX|HACK)\b|\b(not implemented|unimplemented)\b/i,
    sentence: 'unfinished mark',
  },
  {
    files: sources.filter((file) => file.startsWith('test/')),
    pattern: /\b(it|test|describe)\.(only|todo)\(|\b[fx](it|describe)\(/,
    sentence: 'focused or unwritten test',
  },
]

function checkForbidden({ files, pattern, sentence }) {
  for (const file of files) {
    eachLine(file, (text, line) => {
      const code = text.replace(/(^|\s)\/\/.*$/, (comment) =>
        /TODO|FIXME|XXX|HACK/.test(comment) ? comment : '',
      )
      if (pattern.test(code)) complain(file, line, sentence)
    })
  }
}

/** Values imported by a TypeScript file from our own files; types vanish and may point anywhere. */
function importsOf(file) {
  const found = []
  const text = readFileSync(file, 'utf8')
  const statement = /^(?:import|export)\s+(?!type\b)[^'"]*?\bfrom\s+'(\.[^']+)'/gm
  for (const match of text.matchAll(statement)) {
    const target = normalize(join(dirname(file), match[1])).replace(/\.js$/, '.ts')
    if (existsSync(target)) found.push(target)
  }
  return found
}

const library = sources.filter((file) => file.startsWith('lib/') && file.endsWith('.ts'))
const graph = new Map(library.map((file) => [file, importsOf(file)]))

function checkLibrary() {
  for (const [file, targets] of graph) {
    for (const target of targets) {
      const intoCli = target.startsWith('lib/cli/') && !file.startsWith('lib/cli/')
      if (intoCli || target === 'lib/index.ts')
        complain(file, 1, `imports ${target}: it is the top floor`)
    }
    const text = readFileSync(file, 'utf8')
    if (
      /node-gyp-build|\.node'/.test(text) &&
      file !== 'lib/native.ts' &&
      !/^lib\/(cli|toolchain)\//.test(file)
    ) {
      complain(file, 1, 'only lib/native.ts reaches the addon')
    }
  }
}

function checkCycles() {
  const state = new Map()
  const visit = (file, path) => {
    if (state.get(file) === 'done') return
    if (state.get(file) === 'open') {
      complain(file, 1, `import cycle: ${[...path.slice(path.indexOf(file)), file].join(' → ')}`)
      return
    }
    state.set(file, 'open')
    for (const target of graph.get(file) ?? []) visit(target, [...path, file])
    state.set(file, 'done')
  }
  for (const file of library) visit(file, [])
}

sourceFiles('cpp').forEach(checkIncludes)
forbidden.forEach(checkForbidden)
checkLibrary()
checkCycles()
for (const complaint of complaints) console.error(complaint)
console.log(`floors: ${sources.length} files, ${complaints.length} complaints`)
process.exitCode = complaints.length > 0 ? 1 : 0
