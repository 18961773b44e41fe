// Stops `npm pack` and `npm publish` where the package would carry no addon: it would install without a
// word and fail at the first load. `npm run prebuilds` makes what is missing.
'use strict'
const { existsSync, readdirSync, statSync } = require('node:fs')
const { join } = require('node:path')

/** A build that was broken off may leave an empty file. */
function isAddon(path) {
  const found = statSync(path)
  return found.isFile() && found.size > 0
}

const folder = join(__dirname, '..', 'prebuilds')
const addons = existsSync(folder)
  ? readdirSync(folder, { recursive: true }).filter(
      (name) => /octavo[^/\\]*\.node$/.test(name) && isAddon(join(folder, name)),
    )
  : []

if (addons.length > 0) {
  console.error(`octavo: packed with ${addons.sort().join(', ')}`)
} else if (process.env.OCTAVO_PACK_WITHOUT_ADDON === '1') {
  console.error('octavo: packed without an addon; who installs it needs `npx octavo build`')
} else {
  console.error(
    `octavo: ${folder} holds no addon, so the package would have none: run \`npm run prebuilds\` first, ` +
      'or set OCTAVO_PACK_WITHOUT_ADDON=1 for a package that each user compiles with `npx octavo build`',
  )
  process.exitCode = 1
}
