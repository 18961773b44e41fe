// Who holds what: the ledger at the moment of the snapshot.
import { colorOf } from './colors.mjs'
import { element, isDark, swatch } from './dom.mjs'
import { formatBytes, formatCount } from './format.mjs'

const columns = [
  ['owner', ([, owner], data) => data.owners[owner]],
  ['region', ([region], data) => data.regions[region]],
  ['tag', ([, , tag], data) => data.tags[tag]],
  ['bytes', ([, , , bytes]) => bytes],
  ['peak', ([, , , , peak]) => peak],
  ['count', ([, , , , , count]) => count],
]

/** Holdings in the order of a column; numbers largest first. */
export function sortHoldings(data, column) {
  const [, valueOf] = columns[column]
  return [...data.holdings].sort((a, b) => {
    const [left, right] = [valueOf(a, data), valueOf(b, data)]
    return typeof left === 'number'
      ? right - left
      : left.localeCompare(right, 'en', { numeric: true })
  })
}

export class OwnersView {
  constructor(data, container, onShow, onFilter) {
    this.data = data
    this.onShow = onShow
    this.onFilter = onFilter
    this.body = element('tbody')
    const heads = columns.map(([name], index) => {
      const sort = element('button', { type: 'button', onclick: () => this.draw(index) }, name)
      return element('th', {}, sort)
    })
    container.append(
      element('table', {}, element('thead', {}, element('tr', {}, ...heads)), this.body),
    )
    this.draw(3)
  }

  draw(column) {
    this.column = column
    const most = this.data.holdings.reduce((peak, [, , , bytes]) => Math.max(peak, bytes), 1)
    const rows = sortHoldings(this.data, column).slice(0, 2000)
    this.body.replaceChildren(...rows.map((holding) => this.row(holding, most)))
  }

  row(holding, most) {
    const { data } = this
    const [region, owner, tag, bytes, peak, count, stack] = holding
    const bar = element('span', { className: 'bar' })
    bar.style.width = `${(100 * bytes) / most}%`
    const show = () => {
      const facts = [
        ['region', data.regions[region]],
        ['tag', data.tags[tag]],
        ['bytes', `${formatBytes(bytes)} (${bytes})`],
        ['peak', formatBytes(peak)],
        ['pieces', formatCount(count)],
      ]
      this.onShow(data.owners[owner], facts, stack)
      this.onFilter(owner)
    }
    const name = element(
      'button',
      { type: 'button', onclick: show },
      swatch(colorOf(data.owners[owner], isDark())),
      data.owners[owner],
    )
    return element(
      'tr',
      {},
      element('td', {}, name),
      element('td', {}, data.regions[region]),
      element('td', {}, data.tags[tag]),
      element('td', { className: 'number' }, bar, formatBytes(bytes)),
      element('td', { className: 'number' }, formatBytes(peak)),
      element('td', { className: 'number' }, formatCount(count)),
    )
  }
}
