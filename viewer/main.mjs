// Puts the page together.
import { batched, element, makeTooltip } from './dom.mjs'
import { EventsView } from './events-view.mjs'
import { formatBytes } from './format.mjs'
import { MapView } from './map-view.mjs'
import { OwnersView } from './owners-view.mjs'
import { makeStackView } from './stack-view.mjs'
import { TimelineView } from './timeline-view.mjs'

const at = (id) => document.getElementById(id)

function drawHeader(data) {
  const level = data.level === null ? '' : `trace level ${data.level}`
  at('facts').textContent = [data.device, data.takenAt, level]
    .filter((text) => text !== '')
    .join(' · ')
  at('notes').replaceChildren(...data.notes.map((note) => element('li', {}, note)))
  const cards = data.statistics.map(({ region, allocated, peak, limit }) => {
    const bar = element('progress', {
      max: limit ?? Math.max(peak, 1),
      value: allocated,
      'aria-label': `${region} in use`,
    })
    const of = limit === null ? '' : ` of ${formatBytes(limit)}`
    const figures = `${formatBytes(allocated)}${of}, peak ${formatBytes(peak)}`
    return element(
      'div',
      { className: 'card' },
      element('strong', {}, region),
      bar,
      element('span', {}, figures),
    )
  })
  at('regions').replaceChildren(...cards)
}

function listenTheme(redraw) {
  const prefers = window.matchMedia('(prefers-color-scheme: dark)')
  const set = (dark) => {
    document.documentElement.dataset.theme = dark ? 'dark' : 'light'
    redraw()
  }
  prefers.addEventListener('change', () => set(prefers.matches))
  at('theme').addEventListener('click', () =>
    set(document.documentElement.dataset.theme !== 'dark'),
  )
  set(prefers.matches)
}

function start() {
  const data = JSON.parse(at('data').textContent)
  const tooltip = makeTooltip()
  const stack = makeStackView(data, at('details'))
  const show = (...about) => stack.show(...about)
  drawHeader(data)
  document.documentElement.dataset.theme = 'light'
  const events = new EventsView(data, at('events'), show)
  let chosen = {}
  const filter = batched(() => events.apply(chosen))
  const span = (from, to, isWhole) => {
    chosen = isWhole ? { from: 0, to: Infinity } : { from, to }
    filter()
  }
  const timeline = new TimelineView(
    data,
    at('timeline'),
    tooltip,
    (index) => events.reveal(index),
    span,
  )
  const map = new MapView(data, at('map'), tooltip, show)
  const owners = new OwnersView(data, at('owners'), show, (owner) => events.ofOwner(owner))
  const redraw = () => {
    timeline.drawLegend()
    timeline.redraw()
    map.redraw()
    owners.draw(owners.column)
  }
  window.addEventListener('resize', redraw)
  listenTheme(redraw)
}

if (typeof document !== 'undefined') start()
