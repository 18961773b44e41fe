// What the driver says of this process's memory, every 100 ms, as figures, a CSV and an SVG.
'use strict'
const { mkdirSync, writeFileSync } = require('node:fs')
const { join } = require('node:path')
const { clearInterval, setInterval } = require('node:timers')

const intervalMs = 100
const mebibyte = 2 ** 20

/** Samples from its making on. `baseBytes`: what others hold where the driver does not tell processes apart. */
class MemoryCurve {
  #engine
  #timer
  #began = performance.now()
  /** [milliseconds, bytes] */
  samples = []

  constructor(engine, baseBytes) {
    this.#engine = engine
    this.baseBytes = baseBytes
    this.limitBytes = engine.memory().limitBytes
    this.#take()
    this.#timer = setInterval(() => this.#take(), intervalMs)
  }

  #take() {
    const { driver } = this.#engine.memory()
    const bytes = driver.processBytes ?? driver.totalBytes - driver.freeBytes - this.baseBytes
    this.samples.push([performance.now() - this.#began, bytes])
  }

  /** The last sample, and no more. */
  end() {
    clearInterval(this.#timer)
    this.#take()
  }

  get overMebibytes() {
    return (Math.max(...this.samples.map(([, bytes]) => bytes)) - this.limitBytes) / mebibyte
  }

  /** The longest time without a sample: the thread had something else to do. */
  get longestGapMs() {
    return this.samples.reduce(
      (most, [at], i) => Math.max(most, at - (this.samples[i - 1]?.[0] ?? 0)),
      0,
    )
  }

  write(folder, name) {
    mkdirSync(folder, { recursive: true })
    const file = join(folder, name.replace(/[^a-z0-9.]+/gi, '-'))
    const rows = this.samples.map(([ms, bytes]) => `${ms.toFixed(0)},${bytes},${this.limitBytes}`)
    writeFileSync(`${file}.csv`, `ms,driverBytes,limitBytes\n${rows.join('\n')}\n`)
    writeFileSync(`${file}.svg`, this.#svg(name))
  }

  #svg(name) {
    const [width, height, left, top] = [900, 360, 70, 40]
    const lastMs = Math.max(this.samples.at(-1)[0], 1)
    const most = Math.max(this.limitBytes, ...this.samples.map(([, bytes]) => bytes)) * 1.05
    const x = (ms) => (left + (ms / lastMs) * (width - left - 20)).toFixed(1)
    const y = (bytes) => (height - 40 - (bytes / most) * (height - 40 - top)).toFixed(1)
    const points = this.samples.map(([ms, bytes]) => `${x(ms)},${y(bytes)}`).join(' ')
    const label = (at, bytes, text) =>
      `<text x="${at}" y="${y(bytes) - 6}" font-size="12">${text} ${(bytes / mebibyte).toFixed(0)} MiB</text>`
    const limit = this.limitBytes
    const peak = Math.max(...this.samples.map(([, bytes]) => bytes))
    return [
      `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif">`,
      `<rect width="${width}" height="${height}" fill="white"/><text x="${left}" y="20" font-size="14">${name}</text>`,
      `<line x1="${x(0)}" x2="${x(lastMs)}" y1="${y(0)}" y2="${y(0)}" stroke="black"/>`,
      `<line x1="${x(0)}" x2="${x(lastMs)}" y1="${y(limit)}" y2="${y(limit)}" stroke="crimson" stroke-dasharray="6 4"/>`,
      `<polyline points="${points}" fill="none" stroke="steelblue" stroke-width="1.5"/>`,
      label(left, limit, 'limit'),
      label(width / 2, peak, 'driver, most'),
      `<text x="${left}" y="${height - 20}" font-size="12">0 s</text>`,
      `<text x="${width - 70}" y="${height - 20}" font-size="12">${(lastMs / 1000).toFixed(0)} s</text></svg>`,
    ].join('\n')
  }
}

module.exports = { MemoryCurve }
