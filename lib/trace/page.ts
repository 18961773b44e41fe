/** The viewer: one HTML page with everything in it. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ViewData } from './view-data.js'

const folder = join(__dirname, '..', '..', 'viewer')
const read = (name: string): string => readFileSync(join(folder, name), 'utf8')

/** The page's modules, each after those it imports from. */
export const viewerModules = [
  'format.mjs',
  'colors.mjs',
  'series.mjs',
  'map-layout.mjs',
  'event-filter.mjs',
  'dom.mjs',
  'stack-view.mjs',
  'timeline-view.mjs',
  'map-view.mjs',
  'owners-view.mjs',
  'events-view.mjs',
  'main.mjs',
] as const

/** One classic script of all modules: their names are unique, so imports and exports fall away. */
export function viewerScript(modules: readonly string[] = viewerModules): string {
  return modules
    .map((name) =>
      read(name)
        .replace(/^import [^;]*?from '.*'\n/gm, '')
        .replace(/^export /gm, ''),
    )
    .join('\n')
}

/** Text that may stand in an HTML element. */
const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

/** Loads nothing from anywhere, and says so to the browser (Content-Security-Policy). */
export function viewerPage(data: ViewData): string {
  // `<` would end the element in the middle of a tag's name; U+2028 and U+2029 are fine in JSON.
  const json = JSON.stringify(data).replaceAll('<', '\\u003c')
  const parts: Record<string, string> = {
    title: escaped(data.title),
    style: read('page.css'),
    script: `(() => {\n'use strict'\n${viewerScript()}\n})()`,
    data: json,
  }
  return read('page.html').replace(/\{\{(\w+)\}\}/g, (_, name: string) => parts[name] ?? '')
}
