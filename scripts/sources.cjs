// Prints the C++ sources below the folders named, one a line (for binding.gyp and CMake).
const { readdirSync } = require('node:fs')
const { join } = require('node:path')
for (const dir of process.argv.slice(2)) {
  const files = readdirSync(join(__dirname, '..', dir), { recursive: true })
  for (const file of files.sort()) if (/\.(cc|cu)$/.test(file)) console.log(`${dir}/${file}`)
}
