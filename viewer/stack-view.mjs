// The panel that says all there is about what was clicked.
import { element } from './dom.mjs'

/** `show(heading, facts, stack)`: facts are [name, text] pairs; `stack` a number of data.stacks. */
export function makeStackView(data, container) {
  const body = element('div', { 'aria-live': 'polite' })
  container.append(body)
  const empty = 'Choose an event, a block or an owner: its facts and its stack appear here.'
  body.append(element('p', { className: 'quiet' }, empty))
  return {
    show(heading, facts, stack) {
      const table = element('dl')
      for (const [name, text] of facts) {
        if (text !== '') table.append(element('dt', {}, name), element('dd', {}, text))
      }
      const frames = data.stacks[stack] ?? []
      const list = element('ol', { className: 'stack' })
      for (const frame of frames) list.append(element('li', {}, data.frames[frame]))
      const none = element('p', { className: 'quiet' }, 'No stack was recorded for it.')
      body.replaceChildren(element('h3', {}, heading), table, frames.length > 0 ? list : none)
    },
  }
}
