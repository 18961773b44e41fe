// Figures as people read them.

const byteUnits = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB']

/** Powers of 1024, three significant digits: '1.50 MiB'. */
export function formatBytes(bytes) {
  let value = Math.abs(bytes)
  let unit = 0
  while (value >= 1024 && unit < byteUnits.length - 1) {
    value /= 1024
    unit++
  }
  const digits = unit === 0 || value >= 100 ? 0 : value >= 10 ? 1 : 2
  return `${bytes < 0 ? '−' : ''}${value.toFixed(digits)} ${byteUnits[unit]}`
}

/** Nanoseconds: '12.3 ms'. */
export function formatTime(ns) {
  const units = [
    ['s', 1e9],
    ['ms', 1e6],
    ['µs', 1e3],
  ]
  const [name, size] = units.find(([, least]) => Math.abs(ns) >= least) ?? ['ns', 1]
  const value = ns / size
  const digits = Math.abs(value) >= 100 || size === 1 ? 0 : Math.abs(value) >= 10 ? 1 : 2
  return `${value.toFixed(digits)} ${name}`
}

export function formatCount(count) {
  return count.toLocaleString('en-US')
}

export function formatAddress(address) {
  return address < 0 ? '' : `0x${address.toString(16)}`
}

/** About `count` round numbers from `low` to `high`; of bytes, round in powers of two. */
export function niceTicks(low, high, count, inBytes = false) {
  const span = high - low
  if (!(span > 0)) return [low]
  const raw = span / Math.max(1, count)
  let step
  if (inBytes) {
    step = 2 ** Math.ceil(Math.log2(raw))
  } else {
    const power = 10 ** Math.floor(Math.log10(raw))
    step = power * ([1, 2, 5].find((factor) => factor * power >= raw) ?? 10)
  }
  const ticks = []
  for (let at = Math.ceil(low / step) * step; at <= high; at += step) ticks.push(at)
  return ticks
}

export function clamp(value, low, high) {
  return Math.min(Math.max(value, low), high)
}
