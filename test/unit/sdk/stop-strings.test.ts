import { StopMatcher } from '../../../lib/runtime/stop-strings.js'

/** The text in these pieces through a matcher: what came out, and the stop that ended it. */
function run(stops: string[], pieces: string[]): { text: string; stop: string | null } {
  const matcher = new StopMatcher(stops)
  let out = ''
  for (const piece of pieces) {
    const { text, stop } = matcher.push(piece)
    out += text
    if (stop !== null) return { text: out, stop }
  }
  return { text: out + matcher.flush(), stop: null }
}

/** Every way of cutting a string in pieces. */
function* cuts(text: string): Generator<string[]> {
  for (let mask = 0; mask < 2 ** (text.length - 1); mask++) {
    const pieces: string[] = ['']
    for (let i = 0; i < text.length; i++) {
      pieces[pieces.length - 1] += text[i]!
      if (mask & (1 << i)) pieces.push('')
    }
    yield pieces
  }
}

describe('StopMatcher', () => {
  it('cuts the text before the stop string', () => {
    expect(run(['\n\n'], ['one\n', '\ntwo'])).toEqual({ text: 'one', stop: '\n\n' })
  })

  it('emits at once what cannot start a stop string', () => {
    expect(new StopMatcher(['END']).push('hello ')).toEqual({ text: 'hello ', stop: null })
  })

  it('holds back the longest possible start, and gives it out when it leads nowhere', () => {
    const matcher = new StopMatcher(['ababc'])
    expect(matcher.push('xabab')).toEqual({ text: 'x', stop: null })
    expect(matcher.push('a')).toEqual({ text: 'ab', stop: null })
    expect(matcher.push('z')).toEqual({ text: 'abaz', stop: null })
    expect(matcher.flush()).toBe('')
  })

  it('flushes what it held at the end of the text', () => {
    expect(run(['END'], ['the EN'])).toEqual({ text: 'the EN', stop: null })
  })

  it('takes the stop string that is complete first, the longest of those that end together', () => {
    expect(run(['bcd', 'c'], ['abcd'])).toEqual({ text: 'ab', stop: 'c' })
    expect(run(['c', 'bc', 'abc'], ['xabc'])).toEqual({ text: 'x', stop: 'abc' })
  })

  it.each([
    ['xabcabdz', ['abd']],
    ['aaaaaab', ['aab', 'aaaab']],
    ['abcbcdbc', ['cbcd', 'bcb']],
    ['no match', ['nob', 'chm']],
    ['ababab', ['bb', 'abb']],
  ])('gives the same for every way of cutting %j with stops %j', (text, stops) => {
    const whole = run(stops, [...text])
    for (const pieces of cuts(text)) expect(run(stops, pieces)).toEqual(whole)
  })

  it('passes everything through without stop strings', () => {
    expect(run([], ['a', 'b'])).toEqual({ text: 'ab', stop: null })
  })
})
