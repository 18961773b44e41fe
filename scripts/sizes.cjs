// Lines a file by folder: median, p90, largest. Fails when a file passes the limit of CONTRIBUTING.
'use strict'
const { readFileSync } = require('node:fs')
const { sourceFiles } = require('./source-files.cjs')

const limit = 500
const folders = ['lib', 'viewer', 'cpp', 'cuda', 'memtrace', 'test', 'scripts']

function countLines(file) {
  return { file, lines: readFileSync(file, 'utf8').split('\n').length - 1 }
}

function quantile(sorted, share) {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]
}

function row(name, counts) {
  const sorted = counts.map(({ lines }) => lines).sort((a, b) => a - b)
  const total = sorted.reduce((sum, lines) => sum + lines, 0)
  const cells = [
    name,
    sorted.length,
    total,
    quantile(sorted, 0.5),
    quantile(sorted, 0.9),
    sorted.at(-1),
  ]
  return `| ${cells.join(' | ')} |`
}

const byFolder = folders.map((folder) => [folder, sourceFiles(folder).map(countLines)])
const all = byFolder.flatMap(([, counts]) => counts)
console.log(
  '| folder | files | lines | median | p90 | max |\n| --- | --- | --- | --- | --- | --- |',
)
for (const [folder, counts] of byFolder) if (counts.length > 0) console.log(row(folder, counts))
console.log(row('all', all))

const tooLong = all.filter(({ lines }) => lines > limit)
for (const { file, lines } of tooLong)
  console.error(`${file}: ${lines} lines; the limit is ${limit}, split it by noun`)
process.exitCode = tooLong.length > 0 ? 1 : 0
