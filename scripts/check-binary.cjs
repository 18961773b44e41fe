// What a built addon, or the tracing library beside it, may ask of a system, read from the file itself: the
// libraries it needs, the oldest glibc it loads on, the symbols it shows. Argument: the file.
'use strict'
const { execFileSync } = require('node:child_process')
const { statSync } = require('node:fs')
const { basename } = require('node:path')

const file = process.argv[2] ?? 'build/Release/octavo.node'
const isTracer = basename(file) === 'octavo-memtrace.so'
const glibc = [/^libc\.so\.6$/, /^ld-linux-[\w-]+\.so\.\d$/]
const allowed = isTracer ? glibc : [...glibc, /^libm\.so\.6$/, /^libgcc_s\.so\.1$/]
const glibcFloor = [2, 34]
const exported = isTracer
  ? /^(cu[A-Z]\w+|dlsym|dlvsym|dlclose|exit|_exit|_Exit|f?exec(l|le|lp|v|ve|vp|vpe)|__libc_start_main)$/
  : /^(napi_register_module_v1|node_api_module_get_api_version_v1)$/

const read = (command, ...args) => execFileSync(command, [...args, file], { encoding: 'utf8' })
const needed = [...read('readelf', '-dW').matchAll(/NEEDED.*\[(.+)\]/g)].map((match) => match[1])
const versions = [...read('objdump', '-T').matchAll(/GLIBC_(\d+)\.(\d+)/g)].map((match) => [
  +match[1],
  +match[2],
])
const newest = versions.sort((a, b) => a[0] - b[0] || a[1] - b[1]).at(-1)
const symbols = read('nm', '-D', '--defined-only')
  .trim()
  .split('\n')
  .map((line) => line.split(' ').at(-1))
  .sort()

const complaints = []
for (const name of needed) {
  if (!allowed.some((pattern) => pattern.test(name)))
    complaints.push(`needs ${name}: it must load without it`)
}
if (newest[0] > glibcFloor[0] || newest[1] > glibcFloor[1]) {
  complaints.push(`needs glibc ${newest.join('.')}; the floor is ${glibcFloor.join('.')}`)
}
const stray = symbols.filter((symbol) => !exported.test(symbol))
if (symbols.length < 2 || stray.length > 0)
  complaints.push(
    `exports ${symbols.length} symbols, and not these: ${stray.slice(0, 8).join(', ')}`,
  )

console.log(
  `${file}: ${statSync(file).size} bytes, needs ${needed.join(', ')}, glibc ${newest.join('.')}, exports ${symbols.length}`,
)
for (const complaint of complaints) console.error(`${file}: ${complaint}`)
process.exitCode = complaints.length > 0 ? 1 : 0
