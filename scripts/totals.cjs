// Adds up jest's result files: `totals.cjs FAILED_STEPS FOLDER`. A failed step without a failed test in it
// (a lint error, a build that broke) counts as one failure, so that the line and the status agree.
'use strict'
const { readdirSync, readFileSync } = require('node:fs')
const { join } = require('node:path')

const [failedSteps, folder] = [Number(process.argv[2]), process.argv[3]]
const files = readdirSync(folder).filter((name) => name.endsWith('.json'))
const results = files.map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')))
const sum = (count) => results.reduce((total, result) => total + count(result), 0)

const passed = sum((result) => result.numPassedTests)
const skipped = sum((result) => result.numPendingTests + result.numTodoTests)
const failedTests = sum((result) => result.numFailedTests + result.numRuntimeErrorTestSuites)
const failed = Math.max(failedTests, failedSteps)
console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`)
process.exitCode = failed > 0 || passed === 0 ? 1 : 0
