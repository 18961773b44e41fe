// Which events are listed, and how one reads.
import { formatAddress, formatBytes, formatTime } from './format.mjs'

/** The stacks with a frame that has `text` in it. */
function stacksWith(data, text) {
  const frames = data.frames.map((frame) => frame.toLowerCase().includes(text))
  return data.stacks.map((stack) => stack.some((frame) => frames[frame]))
}

/**
 * Indices of the events that meet all of it: `text` (in owner, tag, operation, a frame of the stack, the address
 * in hexadecimal, or '#sequence'), indices of operation, region and owner (-1: any), and a span of time.
 */
export function filterEvents(
  data,
  { text = '', operation = -1, region = -1, owner = -1, from = 0, to = Infinity } = {},
) {
  const { events } = data
  const wanted = text.trim().toLowerCase()
  const has = (names) => names.map((name) => name.toLowerCase().includes(wanted))
  const [owners, tags, operations] = [data.owners, data.tags, data.operations].map(has)
  const stacks = wanted === '' ? [] : stacksWith(data, wanted)
  const matches = (i) =>
    owners[events.owner[i]] ||
    (events.from[i] >= 0 && owners[events.from[i]]) ||
    tags[events.tag[i]] ||
    operations[events.operation[i]] ||
    stacks[events.stack[i]] ||
    (wanted.startsWith('0x') && formatAddress(events.address[i]) === wanted) ||
    wanted === `#${events.firstSequence + i}`
  const found = []
  for (let i = 0; i < events.time.length; i++) {
    if (events.time[i] < from || events.time[i] > to) continue
    if (operation >= 0 && events.operation[i] !== operation) continue
    if (region >= 0 && events.region[i] !== region) continue
    if (owner >= 0 && events.owner[i] !== owner && events.from[i] !== owner) continue
    if (wanted === '' || matches(i)) found.push(i)
  }
  return Int32Array.from(found)
}

/** Operations of nobody, and those that concern no bytes of a region. */
const ownerless = ['snapshot', 'levelChanged']
const bare = ['ownerEnded', 'snapshot', 'levelChanged']

/** One event as texts. */
export function eventTexts(data, i) {
  const { events } = data
  const operation = data.operations[events.operation[i]]
  const owner = data.owners[events.owner[i]]
  const other =
    events.from[i] < 0 ? '' : `${data.owners[events.from[i]]} / ${data.tags[events.fromTag[i]]}`
  const arrow = operation.startsWith('free') ? `${owner} → ${other}` : `${other} → ${owner}`
  return {
    sequence: `#${events.firstSequence + i}`,
    time: formatTime(events.time[i]),
    operation,
    region: bare.includes(operation) ? '' : data.regions[events.region[i]],
    bytes:
      operation === 'levelChanged'
        ? `level ${events.bytes[i]}`
        : bare.includes(operation)
          ? ''
          : formatBytes(events.bytes[i]),
    owner: ownerless.includes(operation) ? '' : other === '' ? owner : arrow,
    tag: data.tags[events.tag[i]],
    address: formatAddress(events.address[i]),
    thread: String(data.threads[events.thread[i]]),
  }
}
