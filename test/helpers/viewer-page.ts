/** The viewer's page taken apart: its data, and its pure functions as node can call them. */
import { runInNewContext } from 'node:vm'
import type { ViewData } from '../../lib/trace/view-data.js'

export interface Series {
  names: string[]
  merged: number
  start: Float64Array
  time: Float64Array
  series: Int32Array
  delta: Float64Array
  duration: number
}

export interface Rect {
  x: number
  y: number
  w: number
  h: number
  segment: number
  block: number
  merged: number
}

/** The functions of viewer/*.mjs that touch no document. */
export interface ViewerFunctions {
  formatBytes(bytes: number): string
  formatTime(ns: number): string
  niceTicks(low: number, high: number, count: number, inBytes?: boolean): number[]
  hueOf(name: string): number
  colorOf(name: string, dark: boolean): string
  buildSeries(data: ViewData, settings?: { region?: number; by?: string; most?: number }): Series
  binSeries(
    series: Series,
    from: number,
    to: number,
    width: number,
  ): { values: Float64Array; totals: Float64Array; count: number }
  valuesAt(series: Series, time: number): Float64Array
  nearestEvent(times: number[], time: number): number
  layoutMap(
    segments: ViewData['segments'],
    size: { width: number; lines?: number },
  ): { rects: Rect[]; heads: { y: number; segment: number }[]; height: number; lineBytes: number }
  rectAt(rects: Rect[], x: number, y: number): number
  filterEvents(data: ViewData, filter?: object): Int32Array
  eventTexts(data: ViewData, index: number): Record<string, string>
  sortHoldings(data: ViewData, column: number): number[][]
}

const names = [
  ...['formatBytes', 'formatTime', 'niceTicks', 'hueOf', 'colorOf', 'buildSeries', 'binSeries'],
  ...[
    'valuesAt',
    'nearestEvent',
    'layoutMap',
    'rectAt',
    'filterEvents',
    'eventTexts',
    'sortHoldings',
  ],
]

/** From the script of a page, as a browser would run it. */
export function functionsOf(page: string): ViewerFunctions {
  const script = /<script>\n\(\(\) => \{\n([\s\S]*)\n\}\)\(\)\n<\/script>/.exec(page)![1]!
  return runInNewContext(`(() => {\n${script}\nreturn { ${names.join(', ')} }\n})()`, {
    // The same intrinsics as the test's, so that results compare as equal.
    ...{ Float64Array, Int32Array, Array, Object, Math, String, Number },
  }) as ViewerFunctions
}

export function dataOf(page: string): ViewData {
  const json = /<script type="application\/json" id="data">([\s\S]*?)<\/script>/.exec(page)![1]!
  return JSON.parse(json) as ViewData
}
