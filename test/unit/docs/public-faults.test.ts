/** docs/public-faults.md: all fourteen kinds, and tests that are there. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './blocks.js'

const page = readFileSync(join(root, 'docs', 'public-faults.md'), 'utf8')
const sections = page.split(/^## /m).slice(1)
const kinds = sections.filter((section) => section.startsWith('K'))

/** File and titles of a line "* `file`: `title`, `title`". */
function testsOf(section: string): { file: string; titles: string[] }[] {
  return [...section.matchAll(/^\* `(test\/[^`]+)`: (.+)$/gm)].map(([, file, rest]) => ({
    file: file!,
    titles: [...rest!.matchAll(/`([^`]+)`/g)].map(([, title]) => title!),
  }))
}

it('has the fourteen kinds in order', () => {
  expect(kinds.map((section) => section.split(' ')[0])).toEqual(
    Array.from({ length: 14 }, (_, i) => `K${i + 1}`),
  )
})

it.each(kinds.map((section) => [section.split('\n')[0]!, section]))('%s', (_, section) => {
  const tests = testsOf(section)
  expect(tests.length).toBe(section.split('\n* ').length - 1)
  expect(tests.length).toBeGreaterThanOrEqual(3)
  for (const { file, titles } of tests) {
    expect(titles.length).toBeGreaterThan(0)
    expect(existsSync(join(root, file))).toBe(true)
    const text = readFileSync(join(root, file), 'utf8')
    expect(titles.filter((title) => !text.includes(title))).toEqual([])
  }
})
