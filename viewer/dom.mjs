// The little of a framework that the page needs.

/** An element with properties, attributes (names with a dash, or role) and children. */
export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag)
  for (const [name, value] of Object.entries(properties)) {
    if (name.includes('-') || name === 'role') made.setAttribute(name, value)
    else made[name] = value
  }
  made.append(...children)
  return made
}

/** A select of [text, value] pairs. */
export function selectOf(label, options, onChange) {
  const select = element('select', { 'aria-label': label })
  for (const [text, value] of options)
    select.append(element('option', { value: String(value) }, text))
  select.addEventListener('change', () => onChange(select.value))
  return element('label', {}, `${label} `, select)
}

export function isDark() {
  return document.documentElement.dataset.theme === 'dark'
}

/** The value of a custom property of the page's style. */
export function styleOf(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim()
}

/** Sets the canvas to its size on the page in real pixels; a context that draws in page pixels. */
export function prepareCanvas(canvas, height) {
  const width = Math.max(50, Math.floor(canvas.parentElement.clientWidth))
  const ratio = window.devicePixelRatio || 1
  canvas.style.height = `${height}px`
  canvas.width = Math.round(width * ratio)
  canvas.height = Math.round(height * ratio)
  const context = canvas.getContext('2d')
  context.setTransform(ratio, 0, 0, ratio, 0, 0)
  context.clearRect(0, 0, width, height)
  context.font = '12px system-ui, sans-serif'
  return { context, width, height }
}

/** The position of a mouse event in a canvas, in page pixels. */
export function pointIn(canvas, event) {
  const box = canvas.getBoundingClientRect()
  return { x: event.clientX - box.left, y: event.clientY - box.top }
}

/** Draws once for any number of calls before the next frame. */
export function batched(draw) {
  let waiting = false
  return () => {
    if (waiting) return
    waiting = true
    requestAnimationFrame(() => {
      waiting = false
      draw()
    })
  }
}

/** The one box that follows the pointer. `show(null)` hides it. */
export function makeTooltip() {
  const box = element('div', { className: 'tooltip', role: 'status', hidden: true })
  document.body.append(box)
  return {
    show(lines, x, y) {
      box.hidden = lines === null
      if (lines === null) return
      box.replaceChildren(
        ...lines.map((line) => (typeof line === 'string' ? element('div', {}, line) : line)),
      )
      const { offsetWidth, offsetHeight } = box
      const left = x + 16 + offsetWidth > window.innerWidth ? x - offsetWidth - 12 : x + 16
      box.style.left = `${Math.max(4, left)}px`
      box.style.top = `${Math.max(4, Math.min(y + 12, window.innerHeight - offsetHeight - 4))}px`
    },
  }
}

/** A square of a colour. */
export function swatch(color) {
  const box = element('span', { className: 'swatch' })
  box.style.background = color
  return box
}
