// Rewrites the CUDA sources into C++ that any compiler reads, for test/emulator. Its rules are the few things that
// C++ has no words for: launches, __shared__ variables, the architecture. A text that they do not understand ends the
// translation with its place. Lines stay where they were, so that a compiler's complaints point to the source.
'use strict'
const { mkdirSync, readFileSync, readdirSync, writeFileSync, existsSync } = require('node:fs')
const { dirname, join } = require('node:path')

/** The text with comments and literals blanked: what the rules look at, character for character. */
function codeOf(text) {
  const skipped = /\/\/[^\n]*|\/\*[\s\S]*?\*\/|"(?:\\.|[^"\\\n])*"|(?<![\w])'(?:\\.|[^'\\\n])'/g
  return text.replace(skipped, (match) => match.replace(/[^\n]/g, ' '))
}

class Refusal extends Error {}

function refuse(text, at, sentence) {
  const line = text.slice(0, at).split('\n').length
  throw new Refusal(`${line}: ${sentence}: ${text.slice(at, at + 60).split('\n')[0]}`)
}

/** Past the bracket that closes the one at `open`. */
function closing(code, open) {
  const pairs = { '(': ')', '[': ']', '{': '}' }
  const expected = []
  for (let at = open; at < code.length; at++) {
    if (pairs[code[at]]) expected.push(pairs[code[at]])
    else if (expected.length > 0 && code[at] === expected.at(-1)) {
      expected.pop()
      if (expected.length === 0) return at + 1
    }
  }
  return refuse(code, open, 'a bracket that nothing closes')
}

/** Where the name, with its template arguments, begins that ends at `end`. */
function startOfName(code, end) {
  let at = end
  while (/\s/.test(code[at - 1])) at--
  if (code[at - 1] === '>') {
    let depth = 0
    do {
      at--
      if (code[at] === '>') depth++
      if (code[at] === '<') depth--
      if (at < 0 || /[;{}]/.test(code[at]))
        refuse(code, end, 'a launch of something that is no name')
    } while (depth > 0)
  }
  while (/[\w:]/.test(code[at - 1] ?? '')) at--
  if (at === end) refuse(code, end, 'a launch of something that is no name')
  return at
}

/** Parts of `text` between commas outside of any bracket. */
function partsOf(text, code) {
  const parts = []
  let from = 0
  for (let at = 0; at <= code.length; at++) {
    if ('([{'.includes(code[at] ?? ' ')) at = closing(code, at) - 1
    else if (at === code.length || code[at] === ',') {
      parts.push(text.slice(from, at))
      from = at + 1
    }
  }
  return parts
}

/** Whether it is a template whose arguments a launch may leave to be deduced. */
function isTemplate(kernel, code) {
  return new RegExp(`template\\s*<[^;{}]*>\\s*__global__[^;{}]*\\b${kernel}\\s*\\(`).test(code)
}

/** kernel<<<grid, block, shared, stream>>>(arguments) */
function translateLaunches(text) {
  for (;;) {
    const code = codeOf(text)
    const open = code.indexOf('<<<')
    if (open < 0) return text
    const close = code.indexOf('>>>', open)
    if (close < 0 || code.slice(open, close).includes(';'))
      refuse(text, open, 'a launch that does not end')
    const parts = partsOf(text.slice(open + 3, close), code.slice(open + 3, close))
    if (parts.length < 2 || parts.length > 4)
      refuse(text, open, 'a launch of a form that is not known')
    if (!/^\s*\(/.test(code.slice(close + 3))) refuse(text, open, 'a launch without arguments')
    const from = startOfName(code, open)
    const kernel = text.slice(from, open).trim()
    const launcher =
      /^\w+$/.test(kernel) && isTemplate(kernel, code)
        ? `deducingLauncher("${kernel}", [](auto... all) { ${kernel}(all...); }, ${parts.join(',')})`
        : `launcher("${kernel}", ${kernel}, ${parts.join(',')})`
    text = `${text.slice(0, from)}::octavo::emulator::${launcher}${text.slice(close + 3)}`
  }
}

/** extern __shared__ type name[]; */
function translateDynamicShared(text) {
  const declaration =
    /\bextern\s+__shared__\s+(?:__align__\(\d+\)\s+)?([\w:]+)\s+(\w+)\s*\[\s*\]\s*;/g
  return text.replace(
    declaration,
    (_, type, name) =>
      `${type}* const ${name} = static_cast<${type}*>(::octavo::emulator::dynamicShared());`,
  )
}

/** __shared__ type name[size]..., name...; a reference each to the variable of the block. */
function translateShared(text) {
  const declaration = /\b__shared__\s+(?:__align__\((\d+)\)\s+)?([\w:]+(?:<[^;<>]*>)?)\s+([^;=]+);/
  for (;;) {
    const match = declaration.exec(codeOf(text))
    if (!match) return text
    const [whole, alignment, type] = match
    const names = text.slice(match.index, match.index + whole.length - 1)
    const list = names.slice(names.length - match[3].length)
    const variables = partsOf(list, codeOf(list)).map((one) => {
      const parts = /^\s*(\w+)\s*((?:\[[^\]]+\]\s*)*)$/.exec(one)
      if (!parts)
        return refuse(text, match.index, 'a __shared__ variable of a form that is not known')
      const [, name, sizes] = parts
      const full = `${type}${sizes.trim()}`
      const aligned = alignment ? `, ${alignment}` : ''
      return (
        `static constinit ::octavo::emulator::SharedPlace ${name}Place; ` +
        `auto& ${name} = ::octavo::emulator::shared<${full}${aligned}>(${name}Place);`
      )
    })
    const lines = whole.split('\n').length - 1
    text =
      text.slice(0, match.index) +
      variables.join(' ') +
      '\n'.repeat(lines) +
      text.slice(match.index + whole.length)
  }
}

/** The architecture, and a word that the headers of the standard library use for something else. */
function translateWords(text) {
  return text
    .replace(/\b__noinline__\b/g, '__attribute__((noinline))')
    .replace(/\b__CUDA_ARCH__\b/g, 'OCTAVO_EMULATED_CUDA_ARCH')
    .replace(/\b__CUDA_ARCH_FEAT_SM90_ALL\b/g, 'OCTAVO_EMULATED_FEAT_SM90_ALL')
}

/** What must not be left when the rules are done. */
function checkLeft(text) {
  const code = codeOf(text)
  const left = /<<<|>>>|\b__shared__\b|\b(?:__asm__|asm)\b|\b__constant__\b|\b__managed__\b/.exec(
    code,
  )
  if (left) refuse(text, left.index, 'there is no rule for this')
}

/** The C++ of a CUDA source. Throws a Refusal, "line: sentence: text", where the rules do not understand it. */
function translate(text) {
  const rules = [translateDynamicShared, translateShared, translateLaunches, translateWords]
  const translated = rules.reduce((before, rule) => rule(before), text)
  checkLeft(translated)
  return translated
}

/** CUDA's own wrappers of PTX have shadows in test/emulator/include. */
const isTranslated = (name) => /\.(cu|cuh|h|cc)$/.test(name) && !name.startsWith('ptx/')
const nameOf = (name) => name.replace(/\.cu$/, '.cu.cc')

function translateFolder(from, to) {
  let refusals = 0
  for (const name of readdirSync(from, { recursive: true }).filter(isTranslated).sort()) {
    const target = join(to, nameOf(name))
    try {
      const text = translate(readFileSync(join(from, name), 'utf8'))
      mkdirSync(dirname(target), { recursive: true })
      // What did not change is not compiled again.
      if (!existsSync(target) || readFileSync(target, 'utf8') !== text) writeFileSync(target, text)
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      console.error(`${join(from, name)}:${error.message}`)
      refusals++
    }
  }
  if (refusals > 0) process.exitCode = 1
}

module.exports = { translate, nameOf, isTranslated }

if (require.main === module) translateFolder(process.argv[2], process.argv[3])
