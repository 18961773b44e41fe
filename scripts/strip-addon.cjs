// Strips an addon by a rename. `strip FILE` (and prebuildify's --strip, which calls it) writes into the file
// itself: a process that has it mapped would crash. The symbol table stays (it adds a tenth to the packed CPU addon),
// so that stacks of a prebuilt addon name their functions.
'use strict'
const { execFileSync } = require('node:child_process')
const { renameSync } = require('node:fs')

/** What is mapped stays as it is; `file` names the stripped one from the rename on. */
function stripAddon(file) {
  const args = process.platform === 'darwin' ? ['-Sx'] : ['--strip-debug']
  const stripped = `${file}.new`
  execFileSync('strip', [...args, '-o', stripped, file])
  renameSync(stripped, file)
}

module.exports = { stripAddon }
