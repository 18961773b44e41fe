// Renders docs/performance.md. Files in the arguments, JSON arrays of rows, are taken in first.
'use strict'
const { readFileSync } = require('node:fs')
const { appendRows } = require('./performance-rows.cjs')

appendRows(process.argv.slice(2).flatMap((file) => JSON.parse(readFileSync(file, 'utf8'))))
