#!/usr/bin/env node
// Stands in for node-gyp when prebuildify calls it: builds with cmake-js in build/Release, where
// prebuildify looks, and strips. Its other arguments (--target, --devdir) mean nothing to cmake-js or
// something else.
'use strict'
const { spawnSync } = require('node:child_process')
const { existsSync } = require('node:fs')
const { dirname, join } = require('node:path')
const { stripAddon } = require('./strip-addon.cjs')

const argv = process.argv.slice(2)
const arch = argv.find((argument) => argument.startsWith('--arch='))?.slice(7) ?? process.arch
const debug = argv.includes('--debug')
const bin = join(dirname(require.resolve('cmake-js/package.json')), 'bin', 'cmake-js')
const args = [bin, 'build', '--arch', arch, ...(debug ? ['--debug'] : [])]
const status = spawnSync(process.execPath, args, { stdio: 'inherit' }).status ?? 1
if (status === 0 && !debug && process.platform !== 'win32') {
  stripAddon(join('build', 'Release', 'octavo.node'))
  const tracer = join('build', 'Release', 'octavo-memtrace.so') // prebuildify takes it along
  if (existsSync(tracer)) stripAddon(tracer)
}
process.exit(status)
