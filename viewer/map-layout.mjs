// Segments as strips of address space, wrapped into lines of one scale.

/** The bytes of a line such that all segments together take about `lines` of them. */
export function bytesALine(segments, lines) {
  const total = segments.reduce((sum, { bytes }) => sum + bytes, 0)
  return Math.max(512, 2 ** Math.ceil(Math.log2(Math.max(total, 1) / lines)))
}

/** The lines of one segment: from, to (bytes in it) and y. */
function linesOf(segment, lineBytes, y, lineHeight) {
  const lines = []
  for (let from = 0; from < segment.bytes; from += lineBytes) {
    lines.push({
      from,
      to: Math.min(segment.bytes, from + lineBytes),
      y: y + lines.length * lineHeight,
    })
  }
  return lines
}

/**
 * Rectangles {x, y, w, h, segment, block, merged} and the headings {y, segment}. Pieces narrower than a pixel
 * are merged with their neighbours and drawn as the largest of them, so that a line costs `width` rectangles at most.
 */
export function layoutMap(segments, { width, lineHeight = 14, headHeight = 18, lines = 36 }) {
  const lineBytes = bytesALine(segments, lines)
  const rects = []
  const heads = []
  let y = 0
  segments.forEach((segment, index) => {
    heads.push({ y, segment: index })
    y += headHeight
    for (const line of linesOf(segment, lineBytes, y, lineHeight)) {
      layoutLine(segment, index, line, { width, lineBytes, lineHeight }, rects)
      y = line.y + lineHeight
    }
    y += 6
  })
  return { rects, heads, height: y, lineBytes }
}

function layoutLine(segment, index, line, { width, lineBytes, lineHeight }, rects) {
  const scale = width / lineBytes
  const lineEnd = Math.max(2, (line.to - line.from) * scale)
  let pending = null
  const emit = () => {
    if (pending === null) return
    const x = pending.x
    const w = Math.max(pending.to - x, Math.min(1, lineEnd - x))
    rects.push({
      x,
      y: line.y,
      w,
      h: lineHeight - 1,
      segment: index,
      block: pending.block,
      merged: pending.merged,
    })
    pending = null
  }
  for (let block = firstBlock(segment, line.from); block < segment.blocks.length; block++) {
    const [address, bytes] = segment.blocks[block]
    const start = Math.max(address - segment.address, line.from)
    const end = Math.min(address - segment.address + bytes, line.to)
    if (start >= line.to) break
    if (end <= start) continue
    const [x, to] = [
      (start - line.from) * scale,
      Math.max((end - line.from) * scale, start === line.from ? 0.5 : 0),
    ]
    if (pending !== null && to - pending.x <= 1) {
      pending.merged++
      if (bytes > segment.blocks[pending.block][1]) pending.block = block
      pending.to = to
      continue
    }
    emit()
    pending = { x, to, block, merged: 1 }
  }
  emit()
}

/** The first block that ends after `offset`; blocks lie by address. */
function firstBlock(segment, offset) {
  let low = 0
  let high = segment.blocks.length
  while (low < high) {
    const middle = (low + high) >> 1
    const [address, bytes] = segment.blocks[middle]
    if (address - segment.address + bytes <= offset) low = middle + 1
    else high = middle
  }
  return low
}

/** Index of the rectangle at a point; -1 where there is none. Rectangles lie by line, then x. */
export function rectAt(rects, x, y) {
  return rects.findIndex(
    (rect) =>
      x >= rect.x && x < rect.x + Math.max(rect.w, 2) && y >= rect.y && y <= rect.y + rect.h,
  )
}
