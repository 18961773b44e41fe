// Builds dist/ and the addon; run by `npm install` in the repository and by `npm run build`. What is
// up to date is left alone. A consumer's install runs no script at all: the tarball has no prepare.cjs.
'use strict'
const { spawnSync } = require('node:child_process')
const {
  chmodSync,
  existsSync,
  readdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} = require('node:fs')
const { join } = require('node:path')

const root = join(__dirname, '..')
const stamp = join(root, 'dist', '.built')

function filesBelow(folder) {
  const names = readdirSync(join(root, folder), { recursive: true })
  return names.map((name) => join(folder, name))
}

/** A removed or renamed source must not live on in dist/ and in the tarball. */
function removeOrphans() {
  if (!existsSync(join(root, 'dist'))) return
  for (const file of filesBelow('dist')) {
    const source = file.replace(/^dist/, 'lib').replace(/(\.d\.ts|\.js)$/, '.ts')
    if (/\.(d\.ts|js)$/.test(file) && !existsSync(join(root, source))) rmSync(join(root, file))
  }
}

function isCurrent() {
  if (!existsSync(stamp)) return false
  const built = statSync(stamp).mtimeMs
  const sources = [...filesBelow('lib'), 'tsconfig.json', 'package.json']
  return sources.every((file) => statSync(join(root, file)).mtimeMs <= built)
}

function buildTypeScript() {
  removeOrphans()
  if (isCurrent()) return console.error('octavo: dist/ is up to date')
  const started = new Date()
  const tsc = require.resolve('typescript/bin/tsc')
  const { status } = spawnSync(process.execPath, [tsc, '-p', root], { stdio: 'inherit' })
  if (status !== 0) throw new Error(`tsc ended with status ${status}`)
  const command = join(root, 'dist', 'cli', 'index.js')
  if (existsSync(command)) chmodSync(command, 0o755) // npx links to it and needs it executable
  writeFileSync(stamp, '')
  utimesSync(stamp, started, started)
  console.error(`octavo: dist/ compiled, ${((Date.now() - started) / 1000).toFixed(1)} s`)
}

async function main() {
  buildTypeScript()
  const { run } = require('../dist/cli/build.js')
  process.exitCode = await run(process.argv.slice(2))
}

main().catch((error) => {
  console.error(`octavo: ${error.code ?? 'build failed'}: ${error.message}`)
  process.exitCode = 1
})
