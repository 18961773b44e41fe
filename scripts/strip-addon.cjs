// Strips an addon by a rename. `strip FILE` (and prebuildify's --strip, which calls it) writes into the file
// itself: a process that has it mapped would crash.
'use strict'
const { execFileSync } = require('node:child_process')
const { renameSync } = require('node:fs')

/** What is mapped stays as it is; `file` names the stripped one from the rename on. */
function stripAddon(file) {
  const args = process.platform === 'darwin' ? ['-Sx'] : ['--strip-all']
  const stripped = `${file}.new`
  execFileSync('strip', [...args, '-o', stripped, file])
  renameSync(stripped, file)
}

module.exports = { stripAddon }
