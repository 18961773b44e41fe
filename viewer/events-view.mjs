// The list of events: filtered, and only the rows in sight exist.
import { element, selectOf } from './dom.mjs'
import { eventTexts, filterEvents } from './event-filter.mjs'
import { formatCount } from './format.mjs'

const rowHeight = 22
const viewHeight = 418
const fields = ['sequence', 'time', 'operation', 'region', 'bytes', 'owner', 'tag', 'address']
/** Browsers lay out no element much higher than this; a longer list is scrolled in proportion. */
const mostHeight = 8_000_000

export class EventsView {
  constructor(data, container, onShow) {
    this.data = data
    this.onShow = onShow
    this.filter = {}
    this.selected = -1
    this.count = element('span', { className: 'quiet', role: 'status' })
    this.rows = element('div', { className: 'rows' })
    this.space = element('div', { className: 'space' }, this.rows)
    this.list = element(
      'div',
      { className: 'events', tabIndex: 0, role: 'listbox', 'aria-label': 'Events' },
      this.space,
    )
    this.list.style.height = `${viewHeight}px`
    container.append(this.controls(), this.list)
    this.list.addEventListener('scroll', () => this.draw())
    this.list.addEventListener('keydown', (event) => this.key(event))
    this.apply({})
  }

  controls() {
    const text = element('input', {
      type: 'search',
      placeholder: 'owner, tag, function, 0xaddress, #number',
      'aria-label': 'Filter',
    })
    text.addEventListener('input', () => this.apply({ text: text.value }))
    const any = (name, names) => [[`any ${name}`, -1], ...names.map((each, index) => [each, index])]
    const clear = () => {
      this.owner.hidden = true
      this.apply({ owner: -1 })
    }
    this.owner = element('button', { type: 'button', hidden: true, onclick: clear })
    return element(
      'div',
      { className: 'controls' },
      text,
      selectOf('Operation', any('operation', this.data.operations), (value) =>
        this.apply({ operation: Number(value) }),
      ),
      selectOf('Region', any('region', this.data.regions), (value) =>
        this.apply({ region: Number(value) }),
      ),
      this.owner,
      this.count,
    )
  }

  /** Changes the filter. */
  apply(change) {
    Object.assign(this.filter, change)
    this.found = filterEvents(this.data, this.filter)
    this.count.textContent = `${formatCount(this.found.length)} of ${formatCount(this.data.events.time.length)} events`
    this.space.style.height = `${Math.min(mostHeight, this.found.length * rowHeight)}px`
    this.draw()
  }

  ofOwner(owner) {
    this.owner.hidden = false
    this.owner.textContent = `${this.data.owners[owner]} ✕`
    this.apply({ owner })
  }

  get firstRow() {
    const height = Math.min(mostHeight, this.found.length * rowHeight)
    const most = Math.max(1, height - viewHeight)
    const rows = Math.max(0, this.found.length - Math.floor(viewHeight / rowHeight))
    return Math.round((Math.min(this.list.scrollTop, most) / most) * rows)
  }

  draw() {
    const first = this.firstRow
    const last = Math.min(this.found.length, first + Math.ceil(viewHeight / rowHeight) + 1)
    const rows = []
    for (let row = first; row < last; row++) rows.push(this.row(this.found[row]))
    this.rows.style.transform = `translateY(${this.list.scrollTop}px)`
    this.rows.replaceChildren(...rows)
  }

  row(index) {
    const texts = eventTexts(this.data, index)
    const cells = fields.map((field) =>
      element('span', { className: field, title: texts[field] }, texts[field]),
    )
    const isSelected = index === this.selected
    return element(
      'div',
      { role: 'option', 'aria-selected': String(isSelected), onclick: () => this.show(index) },
      ...cells,
    )
  }

  show(index) {
    this.selected = index
    const texts = eventTexts(this.data, index)
    this.onShow(
      `${texts.sequence} ${texts.operation}`,
      Object.entries(texts).slice(1),
      this.data.events.stack[index],
    )
    this.draw()
  }

  /** Selects an event and brings it into sight, past any filter that hides it. */
  reveal(index) {
    let row = this.found.indexOf(index)
    if (row < 0) {
      this.apply({ text: '', operation: -1, region: -1, owner: -1, from: 0, to: Infinity })
      row = this.found.indexOf(index)
    }
    const inView = Math.floor(viewHeight / rowHeight)
    const rows = Math.max(1, this.found.length - inView)
    const height = Math.min(mostHeight, this.found.length * rowHeight)
    this.list.scrollTop = (Math.max(0, row - inView / 2) / rows) * Math.max(0, height - viewHeight)
    this.show(index)
  }

  key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15 }[event.key]
    if (step === undefined || this.found.length === 0) return
    event.preventDefault()
    const row = Math.max(
      0,
      Math.min(this.found.length - 1, this.found.indexOf(this.selected) + step),
    )
    this.reveal(this.found[row])
  }
}
