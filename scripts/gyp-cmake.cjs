#!/usr/bin/env node
// Stands in for node-gyp when prebuildify calls it: builds with cmake-js in build/Release, where
// prebuildify looks. Its other arguments (--target, --devdir) mean nothing to cmake-js or something else.
'use strict'
const { spawnSync } = require('node:child_process')
const { dirname, join } = require('node:path')

const argv = process.argv.slice(2)
const arch = argv.find((argument) => argument.startsWith('--arch='))?.slice(7) ?? process.arch
const bin = join(dirname(require.resolve('cmake-js/package.json')), 'bin', 'cmake-js')
const args = [bin, 'build', '--arch', arch, ...(argv.includes('--debug') ? ['--debug'] : [])]
process.exit(spawnSync(process.execPath, args, { stdio: 'inherit' }).status ?? 1)
