// Removes everything that a build makes.
'use strict'
const { readdirSync, rmSync } = require('node:fs')
const { join } = require('node:path')

const root = join(__dirname, '..')
const made = readdirSync(root).filter((name) =>
  /^(build(-.*)?|dist|prebuilds|coverage)$/.test(name),
)
for (const name of made) rmSync(join(root, name), { recursive: true })
