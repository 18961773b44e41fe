// The source files below a folder of the repository, as sorted relative paths.
'use strict'
const { existsSync, readdirSync } = require('node:fs')
const { join } = require('node:path')

process.chdir(join(__dirname, '..'))

function sourceFiles(folder) {
  if (!existsSync(folder)) return []
  const names = readdirSync(folder, { recursive: true, withFileTypes: false })
  const isSource = (name) =>
    /\.(ts|cc|h|cu|cuh|cjs|mjs|py)$/.test(name) && !/node_modules/.test(name)
  return names
    .filter(isSource)
    .sort()
    .map((name) => `${folder}/${name}`)
}

module.exports = { sourceFiles }
