// Results as a table for a terminal.
'use strict'

const head = ['case', 'unit', 'ours', 'peer', 'floor', 'goal', 'limit', 'error', '']

const figure = (value) => (value === null ? '' : String(Number(value.toPrecision(4))))
const reference = (of) => (of === null ? '' : `${figure(of.value)} (${of.name})`)

function cells(result) {
  return [
    result.case,
    result.unit,
    figure(result.value),
    reference(result.peer),
    figure(result.floor),
    figure(result.goal),
    reference(result.limit),
    result.error === null ? '' : result.error.toExponential(1),
    result.verdict,
  ]
}

/** One line a result, columns aligned. */
function tableOf(results) {
  const lines = [head, ...results.map(cells)]
  const widths = head.map((_, column) => Math.max(...lines.map((line) => line[column].length)))
  return lines
    .map((line) => line.map((cell, column) => cell.padEnd(widths[column])).join('  '))
    .map((line) => line.trimEnd())
    .join('\n')
}

module.exports = { tableOf }
