import { suggest } from '../../../lib/options/suggest.js'

const names = ['maxNewTokens', 'temperature', 'topP', 'topK', 'seed', 'stop', 'signal']

describe('suggest', () => {
  it.each([
    ['maxNewToken', 'maxNewTokens'],
    ['max_new_tokens', 'maxNewTokens'],
    ['max-new-tokens', 'maxNewTokens'],
    ['maxnewtokens', 'maxNewTokens'],
    ['temprature', 'temperature'],
    ['tempreature', 'temperature'],
    ['topp', 'topP'],
    ['top_k', 'topK'],
    ['sede', 'seed'],
    ['temp', 'temperature'],
    ['sign', 'signal'],
  ])('%s → %s', (written, meant) => expect(suggest(written, names)).toBe(meant))

  it.each(['colour', 'x', ''])('%j is near nothing', (written) =>
    expect(suggest(written, names)).toBeNull(),
  )
})
