// Segments and blocks: what lies where.
import { colorOf } from './colors.mjs'
import { batched, element, isDark, pointIn, prepareCanvas, styleOf } from './dom.mjs'
import { formatAddress, formatBytes } from './format.mjs'
import { layoutMap, rectAt } from './map-layout.mjs'

export class MapView {
  constructor(data, container, tooltip, onShow) {
    this.data = data
    this.tooltip = tooltip
    this.onShow = onShow
    this.selected = -1
    this.canvas = element('canvas', {
      tabIndex: 0,
      role: 'img',
      'aria-label': 'Segments and their blocks by address',
    })
    this.scale = element('p', { className: 'quiet' })
    this.redraw = batched(() => this.draw())
    const bytes = data.segments.reduce((sum, segment) => sum + segment.bytes, 0)
    const count = `${data.segments.length} segments, ${formatBytes(bytes)}`
    container.append(
      element('p', {}, count),
      this.scale,
      element('div', { className: 'map' }, this.canvas),
    )
    this.listen()
    this.redraw()
  }

  draw() {
    const width = Math.max(50, Math.floor(this.canvas.parentElement.clientWidth))
    this.layout = layoutMap(this.data.segments, { width })
    const { context } = prepareCanvas(this.canvas, Math.max(20, Math.ceil(this.layout.height)))
    this.scale.textContent = `A full line is ${formatBytes(this.layout.lineBytes)}. Free memory is hollow. ← → move, Enter shows the stack.`
    context.textBaseline = 'middle'
    for (const { y, segment } of this.layout.heads)
      this.drawHead(context, y, this.data.segments[segment])
    const dark = isDark()
    this.layout.rects.forEach((rect, index) =>
      this.drawRect(context, rect, dark, index === this.selected),
    )
  }

  drawHead(context, y, segment) {
    const { regions, owners, tags } = this.data
    const name = `${regions[segment.region]} · ${tags[segment.tag]} · ${owners[segment.owner]}`
    context.fillStyle = styleOf('--quiet')
    context.fillText(
      `${formatAddress(segment.address)}  ${formatBytes(segment.bytes)}  ${name}`,
      0,
      y + 10,
    )
  }

  drawRect(context, { x, y, w, h, segment, block }, dark, isSelected) {
    const [, , state, owner] = this.data.segments[segment].blocks[block]
    const isFree = owner < 0
    context.globalAlpha =
      this.data.states[state] === 'inFlight' || this.data.states[state] === 'freeRequested'
        ? 0.45
        : 1
    if (isFree) {
      context.strokeStyle = styleOf('--line')
      context.strokeRect(x + 0.5, y + 0.5, Math.max(w - 1, 0.5), h - 1)
    } else {
      context.fillStyle = colorOf(this.data.owners[owner], dark)
      context.fillRect(x, y, w > 3 ? w - 0.5 : w, h)
    }
    context.globalAlpha = 1
    if (!isSelected) return
    context.strokeStyle = styleOf('--text')
    context.lineWidth = 2
    context.strokeRect(x, y, Math.max(w, 3), h)
    context.lineWidth = 1
  }

  facts({ segment, block, merged }) {
    const { data } = this
    const home = data.segments[segment]
    const [address, bytes, state, owner, tag, count, stack] = home.blocks[block]
    const facts = [
      ['address', formatAddress(address)],
      ['bytes', `${formatBytes(bytes)} (${bytes})`],
      ['state', data.states[state]],
      ['owner', owner < 0 ? 'nobody' : data.owners[owner]],
      ['tag', data.tags[tag]],
      ['blocks', count > 1 ? String(count) : ''],
      ['region', data.regions[home.region]],
      ['drawn with', merged > 1 ? `${merged - 1} smaller neighbours` : ''],
    ]
    return { facts, stack: stack || home.stack }
  }

  show(index) {
    this.selected = index
    this.redraw()
    if (index < 0) return
    const { facts, stack } = this.facts(this.layout.rects[index])
    this.onShow('Block', facts, stack)
  }

  listen() {
    const { canvas } = this
    const at = (event) => {
      const { x, y } = pointIn(canvas, event)
      return this.layout === undefined ? -1 : rectAt(this.layout.rects, x, y)
    }
    canvas.addEventListener('pointermove', (event) => {
      const index = at(event)
      if (index < 0) return this.tooltip.show(null)
      const { facts } = this.facts(this.layout.rects[index])
      const lines = facts
        .filter(([, text]) => text !== '')
        .map(([name, text]) => `${name}: ${text}`)
      this.tooltip.show(lines, event.clientX, event.clientY)
    })
    canvas.addEventListener('pointerleave', () => this.tooltip.show(null))
    canvas.addEventListener('click', (event) => this.show(at(event)))
    canvas.addEventListener('keydown', (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1, Enter: 0 }[event.key]
      if (step === undefined || !this.layout || this.layout.rects.length === 0) return
      event.preventDefault()
      const { length } = this.layout.rects
      this.show((Math.max(this.selected, step > 0 ? -1 : 0) + step + length) % length)
    })
  }
}
