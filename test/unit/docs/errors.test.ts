/** docs/errors.md is the list of lib/errors.ts in prose: the same codes, each with all that a reader needs. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { errorCodes } from '../../../lib/errors.js'
import { root } from './blocks.js'

const page = readFileSync(join(root, 'docs', 'errors.md'), 'utf8')
const native = readFileSync(join(root, 'cpp', 'base', 'error.cc'), 'utf8')
const sections = page.split(/^## /m).slice(1)

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
