// One colour a name, the same wherever it stands.

/** FNV-1a. */
export function hashOf(name) {
  let hash = 0x811c9dc5
  for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193)
  return hash >>> 0
}

/** Neighbouring session numbers get hues far apart: steps of the golden angle. */
export function hueOf(name) {
  const match = /^(.*?)(\d+)$/.exec(name)
  if (match === null) return hashOf(name) % 360
  return (hashOf(match[1]) + Number(match[2]) * 137.508) % 360
}

const fixed = {
  engine: ['hsl(215 18% 58%)', 'hsl(215 20% 52%)'],
  other: ['hsl(0 0% 70%)', 'hsl(0 0% 42%)'],
}

/** For the page's light or dark scheme. */
export function colorOf(name, dark) {
  const own = Object.hasOwn(fixed, name) ? fixed[name] : undefined
  if (own !== undefined) return own[dark ? 1 : 0]
  const hue = Math.round(hueOf(name))
  const deep = 10 * ((hashOf(name) >>> 9) % 2)
  return dark ? `hsl(${hue} 55% ${52 + deep}%)` : `hsl(${hue} 60% ${46 + deep}%)`
}
