// Bytes over time: the stacked chart, its overview with the brush, its legend.
import { colorOf } from './colors.mjs'
import {
  batched,
  element,
  isDark,
  pointIn,
  prepareCanvas,
  selectOf,
  styleOf,
  swatch,
} from './dom.mjs'
import { clamp, formatBytes, formatTime, niceTicks } from './format.mjs'
import { binSeries, buildSeries, nearestEvent, valuesAt } from './series.mjs'

const chartHeight = 340
const overviewHeight = 56
const margin = { left: 74, right: 12, top: 10, bottom: 22 }

export class TimelineView {
  constructor(data, container, tooltip, onSelect, onSpan) {
    this.data = data
    this.tooltip = tooltip
    this.onSelect = onSelect
    this.onSpan = onSpan
    this.settings = { region: -1, by: 'owner' }
    this.hidden = new Set()
    this.cursor = null
    this.chart = element('canvas', { tabIndex: 0, role: 'img', 'aria-label': 'Bytes over time' })
    this.overview = element('canvas', {
      role: 'img',
      'aria-label': 'Overview: drag to choose a span',
    })
    this.legend = element('div', { className: 'legend' })
    this.redraw = batched(() => this.draw())
    container.append(this.controls(), this.chart, this.overview, this.legend)
    this.listen()
    this.rebuild()
  }

  controls() {
    const regions = [['all regions', -1], ...this.data.regions.map((name, index) => [name, index])]
    const groups = ['owner', 'tag', 'region'].map((name) => [name, name])
    const set = (change) => {
      Object.assign(this.settings, change)
      this.hidden.clear()
      this.rebuild()
    }
    const reset = element(
      'button',
      { type: 'button', onclick: () => this.zoom(0, this.series.duration) },
      'Whole span',
    )
    const help =
      'wheel or + −: zoom · drag or ← →: move · Enter: nearest event · drag below: choose a span'
    return element(
      'div',
      { className: 'controls' },
      selectOf('Region', regions, (value) => set({ region: Number(value) })),
      selectOf('Stacked by', groups, (value) => set({ by: value })),
      reset,
      element('span', { className: 'quiet' }, help),
    )
  }

  rebuild() {
    this.series = buildSeries(this.data, this.settings)
    this.from ??= 0
    this.to ??= this.series.duration
    this.drawLegend()
    this.redraw()
  }

  zoom(from, to) {
    const { duration } = this.series
    const span = clamp(to - from, Math.min(100, duration), duration)
    this.from = clamp(from, 0, duration - span)
    this.to = this.from + span
    this.onSpan(this.from, this.to, span === duration)
    this.redraw()
  }

  /** Zooms about a moment: it stays where it is. */
  zoomAt(time, factor) {
    this.zoom(time - (time - this.from) * factor, time + (this.to - time) * factor)
  }

  get plotWidth() {
    return Math.max(
      10,
      Math.floor(this.chart.parentElement.clientWidth) - margin.left - margin.right,
    )
  }

  timeAt(x) {
    return (
      this.from +
      (clamp(x - margin.left, 0, this.plotWidth) / this.plotWidth) * (this.to - this.from)
    )
  }

  draw() {
    const dark = isDark()
    const canvas = prepareCanvas(this.chart, chartHeight)
    const bins = binSeries(this.visible(), this.from, this.to, this.plotWidth)
    const top =
      Math.max(
        1,
        bins.totals.reduce((most, total) => Math.max(most, total), 0),
      ) * 1.06
    const plotHeight = chartHeight - margin.top - margin.bottom
    const yOf = (bytes) => margin.top + plotHeight * (1 - bytes / top)
    this.drawAxes(canvas, top, yOf)
    this.drawStack(canvas.context, bins, yOf, dark)
    this.drawCursor(canvas.context)
    this.drawOverview(dark)
  }

  /** The series without those that the legend has switched off. */
  visible() {
    if (this.hidden.size === 0) return this.series
    const { series } = this
    const isShown = (index) => !this.hidden.has(series.names[index])
    return {
      ...series,
      start: series.start.map((bytes, index) => (isShown(index) ? bytes : 0)),
      delta: series.delta.map((bytes, i) => (isShown(series.series[i]) ? bytes : 0)),
    }
  }

  drawAxes({ context, width, height }, top, yOf) {
    context.strokeStyle = styleOf('--line')
    context.fillStyle = styleOf('--quiet')
    context.lineWidth = 1
    context.textAlign = 'right'
    context.textBaseline = 'middle'
    for (const tick of niceTicks(0, top, 6, true)) {
      const y = Math.round(yOf(tick)) + 0.5
      context.beginPath()
      context.moveTo(margin.left, y)
      context.lineTo(width - margin.right, y)
      context.stroke()
      context.fillText(formatBytes(tick), margin.left - 6, y)
    }
    context.textAlign = 'center'
    context.textBaseline = 'top'
    for (const tick of niceTicks(this.from, this.to, Math.floor(width / 140))) {
      const x = margin.left + ((tick - this.from) / (this.to - this.from)) * this.plotWidth
      context.fillText(formatTime(tick), x, height - margin.bottom + 6)
    }
  }

  drawStack(context, { values, count, width }, yOf, dark) {
    const base = new Float64Array(width)
    for (let series = count - 1; series >= 0; series--) {
      context.fillStyle = colorOf(this.series.names[series], dark)
      context.beginPath()
      for (let column = 0; column < width; column++) {
        const y = yOf(base[column] + values[column * count + series])
        context.lineTo(margin.left + column, y)
        context.lineTo(margin.left + column + 1, y)
      }
      for (let column = width - 1; column >= 0; column--) {
        context.lineTo(margin.left + column + 1, yOf(base[column]))
        context.lineTo(margin.left + column, yOf(base[column]))
        base[column] += values[column * count + series]
      }
      context.fill()
    }
  }

  drawCursor(context) {
    if (this.cursor === null || this.cursor < this.from || this.cursor > this.to) return
    const x = margin.left + ((this.cursor - this.from) / (this.to - this.from)) * this.plotWidth
    context.strokeStyle = styleOf('--text')
    context.beginPath()
    context.moveTo(x, margin.top)
    context.lineTo(x, chartHeight - margin.bottom)
    context.stroke()
  }

  drawOverview(dark) {
    const { context } = prepareCanvas(this.overview, overviewHeight)
    const { duration } = this.series
    const bins = binSeries(this.visible(), 0, duration, this.plotWidth)
    const top = Math.max(
      1,
      bins.totals.reduce((most, total) => Math.max(most, total), 0),
    )
    context.save()
    context.translate(0, -margin.top)
    this.drawStack(
      context,
      bins,
      (bytes) => margin.top + (overviewHeight - 4) * (1 - bytes / top) + 2,
      dark,
    )
    context.restore()
    const xOf = (time) => margin.left + (time / duration) * this.plotWidth
    context.fillStyle = styleOf('--shade')
    context.fillRect(margin.left, 0, xOf(this.from) - margin.left, overviewHeight)
    context.fillRect(xOf(this.to), 0, margin.left + this.plotWidth - xOf(this.to), overviewHeight)
    context.strokeStyle = styleOf('--accent')
    context.strokeRect(
      xOf(this.from) + 0.5,
      0.5,
      Math.max(2, xOf(this.to) - xOf(this.from) - 1),
      overviewHeight - 1,
    )
  }

  drawLegend() {
    const entries = this.series.names.map((name) => {
      const text = name === 'other' ? `other (${this.series.merged})` : name || '(no tag)'
      const toggle = () => {
        if (!this.hidden.delete(name)) this.hidden.add(name)
        this.drawLegend()
        this.redraw()
      }
      const pressed = String(!this.hidden.has(name))
      return element(
        'button',
        { type: 'button', 'aria-pressed': pressed, onclick: toggle },
        swatch(colorOf(name, isDark())),
        text,
      )
    })
    this.legend.replaceChildren(...entries)
  }

  describe(time) {
    const values = valuesAt(this.series, time)
    const total = values.reduce((sum, bytes) => sum + bytes, 0)
    const lines = [`${formatTime(time)} · ${formatBytes(total)}`]
    this.series.names.forEach((name, index) => {
      if (values[index] === 0) return
      const label = `${name || '(no tag)'}  ${formatBytes(values[index])}`
      lines.push(element('div', {}, swatch(colorOf(name, isDark())), label))
    })
    return lines
  }

  listen() {
    const { chart } = this
    let drag = null
    chart.addEventListener('pointerdown', (event) => {
      drag = { x: event.clientX, from: this.from, to: this.to, moved: false }
      chart.setPointerCapture(event.pointerId)
    })
    chart.addEventListener('pointermove', (event) => {
      const { x } = pointIn(chart, event)
      this.cursor = this.timeAt(x)
      this.tooltip.show(this.describe(this.cursor), event.clientX, event.clientY)
      if (drag !== null && Math.abs(event.clientX - drag.x) > 3) {
        drag.moved = true
        const shift = ((drag.x - event.clientX) / this.plotWidth) * (drag.to - drag.from)
        this.zoom(drag.from + shift, drag.to + shift)
      }
      this.redraw()
    })
    chart.addEventListener('pointerup', () => {
      if (drag !== null && !drag.moved) this.selectAtCursor()
      drag = null
    })
    chart.addEventListener('pointerleave', () => this.tooltip.show(null))
    chart.addEventListener('blur', () => this.tooltip.show(null))
    chart.addEventListener('wheel', (event) => this.wheel(event), { passive: false })
    chart.addEventListener('keydown', (event) => this.key(event))
    this.listenOverview()
  }

  wheel(event) {
    event.preventDefault()
    this.zoomAt(this.timeAt(pointIn(this.chart, event).x), event.deltaY > 0 ? 1.25 : 0.8)
  }

  key(event) {
    const span = this.to - this.from
    const actions = {
      ArrowLeft: () => this.moveCursor(-span / 100),
      ArrowRight: () => this.moveCursor(span / 100),
      PageUp: () => this.zoom(this.from - span / 2, this.to - span / 2),
      PageDown: () => this.zoom(this.from + span / 2, this.to + span / 2),
      '+': () => this.zoomAt(this.cursor ?? (this.from + this.to) / 2, 0.7),
      '-': () => this.zoomAt(this.cursor ?? (this.from + this.to) / 2, 1.4),
      Home: () => this.zoom(0, this.series.duration),
      Enter: () => this.selectAtCursor(),
      Escape: () => this.tooltip.show(null),
    }
    const action = actions[event.key]
    if (action === undefined) return
    event.preventDefault()
    action()
  }

  moveCursor(by) {
    this.cursor = clamp((this.cursor ?? this.from) + by, 0, this.series.duration)
    if (this.cursor < this.from || this.cursor > this.to)
      this.zoom(this.from + by * 20, this.to + by * 20)
    const box = this.chart.getBoundingClientRect()
    const x =
      box.left + margin.left + ((this.cursor - this.from) / (this.to - this.from)) * this.plotWidth
    this.tooltip.show(this.describe(this.cursor), x, box.top + 20)
    this.redraw()
  }

  selectAtCursor() {
    const index = nearestEvent(this.data.events.time, this.cursor ?? this.from)
    if (index >= 0) this.onSelect(index)
  }

  listenOverview() {
    const { overview } = this
    const timeAt = (event) =>
      (clamp(pointIn(overview, event).x - margin.left, 0, this.plotWidth) / this.plotWidth) *
      this.series.duration
    let start = null
    overview.addEventListener('pointerdown', (event) => {
      start = timeAt(event)
      overview.setPointerCapture(event.pointerId)
    })
    overview.addEventListener('pointermove', (event) => {
      if (start === null) return
      const end = timeAt(event)
      this.zoom(Math.min(start, end), Math.max(start, end))
    })
    overview.addEventListener('pointerup', (event) => {
      const end = timeAt(event)
      const span = this.to - this.from
      // A click without a drag moves the window there.
      if (start !== null && Math.abs(end - start) < this.series.duration / this.plotWidth) {
        this.zoom(end - span / 2, end + span / 2)
      }
      start = null
    })
  }
}
