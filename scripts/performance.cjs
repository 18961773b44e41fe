// Renders docs/performance.md. With a file argument, first takes its rows (a JSON array) in.
'use strict'
const { readFileSync } = require('node:fs')
const { appendRows } = require('./performance-rows.cjs')

const [file] = process.argv.slice(2)
appendRows(file === undefined ? [] : JSON.parse(readFileSync(file, 'utf8')))
