/**
 * docs/errors.md is the list of lib/errors.ts in prose: the same codes, each with all that a reader needs, and
 * quoted sentences that octavo says.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { errorCodes, type ErrorCode } from '../../../lib/errors.js'
import { expectNothingLive } from '../../helpers/nothing-live.js'
import { root } from './blocks.js'
import { failures, fixedWords, removeFolders } from './failures.js'

const page = readFileSync(join(root, 'docs', 'errors.md'), 'utf8')
const native = readFileSync(join(root, 'cpp', 'base', 'error.cc'), 'utf8')
const sections = page.split(/^## /m).slice(1)

afterAll(removeFolders)

const sectionOf = (code: string): string =>
  sections.find((section) => section.startsWith(`${code}\n`)) ?? ''
/** The sentence that the section quotes. */
const quoteOf = (code: string): string => /^> (.*)$/m.exec(sectionOf(code))?.[1] ?? ''

/** A sentence without what depends on the machine and the case: platforms, paths and numbers. */
const fixed = (sentence: string): string =>
  sentence
    .replace(/\b(linux|darwin|win32)-\w+/g, '<platform>')
    .replace(/(?<![\w.])\/[\w./@+-]*[\w-]/g, '<path>')
    .replace(/\d[\d,.]*\d|\d/g, '<number>')

it('has one section a code, in the order of the list', () => {
  expect(sections.map((section) => section.split('\n')[0])).toEqual([...errorCodes])
})

it.each(sections.map((section) => [section.split('\n')[0], section]))(
  '%s says what it means, how it reads and what to do',
  (_code, section) => {
    expect(section).toMatch(/^> \S/m)
    expect(section).toMatch(/^\*\*What to do\.\*\* \S/m)
  },
)

it('holds every code that the runtime throws', () => {
  const thrown = [...native.matchAll(/"(OCTAVO_[A-Z_]+)"/g)].map((match) => match[1])
  expect(thrown.length).toBeGreaterThan(10)
  expect([...errorCodes]).toEqual(expect.arrayContaining(thrown))
})

it('quotes a sentence of every code that is brought about or looked up here', () => {
  const known = [...Object.keys(failures), ...Object.keys(fixedWords)]
  expect(known.sort()).toEqual([...errorCodes].sort())
})

it.each(Object.entries(failures))('quotes %s as it is said', async (code, bringAbout) => {
  const said = await Promise.resolve()
    .then(bringAbout)
    .then(
      () => ({ code: 'nothing', message: '' }),
      (error: unknown) => error as { code: string; message: string },
    )
  expect(said.code).toBe(code)
  const quote = quoteOf(code)
  const message = fixed(said.message)
  if (!quote.endsWith('…')) expect(fixed(quote)).toBe(message)
  else expect(message.slice(0, fixed(quote).length - 1)).toBe(fixed(quote).slice(0, -1))
  expectNothingLive()
})

describe('what needs a card or a bug', () => {
  const sources = ['cpp', 'cuda'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.cc'))
      .map((name) => readFileSync(join(root, folder, name), 'utf8')),
  )
  it.each(Object.entries(fixedWords))('%s is quoted in the words of the sources', (code, words) => {
    for (const part of words) {
      expect(quoteOf(code as ErrorCode)).toContain(part)
      const literal = part.replaceAll('"', '\\"')
      expect(sources.some((text) => text.includes(literal))).toBe(true)
    }
  })
})
