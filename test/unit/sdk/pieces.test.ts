import { PieceAssembler, type PieceSettings } from '../../../lib/runtime/pieces.js'
import { wordText } from '../../fakes/text.js'

const words = ['one', ' two', '', 'ST', 'OP', '</s>']

function assembler(settings: Partial<PieceSettings> = {}): PieceAssembler {
  return new PieceAssembler({
    index: 0,
    detokenizer: wordText(words).tokenizer.detokenizer(),
    stop: [],
    silent: new Set([5]),
    wantsLogprobs: false,
    ...settings,
  })
}

describe('PieceAssembler', () => {
  it('makes a piece of each token that completes text, and keeps the whole', () => {
    const pieces = assembler()
    expect(pieces.push(0, null)).toEqual({ index: 0, text: 'one', tokens: [0] })
    expect(pieces.push(1, null)).toEqual({ index: 0, text: ' two', tokens: [1] })
    expect(pieces.finish()).toBeNull()
    expect(pieces.text).toBe('one two')
    expect(pieces.tokens).toEqual([0, 1])
  })

  it('hands a token without text on with the next one', () => {
    const pieces = assembler()
    expect(pieces.push(2, null)).toBeNull()
    expect(pieces.push(0, null)).toEqual({ index: 0, text: 'one', tokens: [2, 0] })
  })

  it('ends with a piece for tokens that never made text', () => {
    const pieces = assembler()
    pieces.push(0, null)
    expect(pieces.push(5, null)).toBeNull()
    expect(pieces.finish()).toEqual({ index: 0, text: '', tokens: [5] })
    expect(pieces.text).toBe('one')
    expect(pieces.tokens).toEqual([0, 5])
  })

  it('finds a stop string across tokens and leaves it out', () => {
    const pieces = assembler({ stop: ['STOP'] })
    pieces.push(0, null)
    expect(pieces.push(3, null)).toBeNull()
    expect(pieces.push(4, null)).toEqual({ index: 0, text: '', tokens: [3, 4] })
    expect(pieces.stopString).toBe('STOP')
    expect(pieces.finish()).toBeNull()
    expect(pieces.text).toBe('one')
  })

  it('gives held-back text out at the end', () => {
    const pieces = assembler({ stop: ['STOP'] })
    pieces.push(3, null)
    expect(pieces.finish()).toEqual({ index: 0, text: 'ST', tokens: [3] })
  })

  it('makes a piece of every token without a tokenizer', () => {
    const pieces = assembler({ detokenizer: null, silent: new Set() })
    expect(pieces.push(7, null)).toEqual({ index: 0, text: '', tokens: [7] })
    expect(pieces.finish()).toBeNull()
  })

  it('carries log-probabilities where they were asked for', () => {
    const logprob = { token: 0, logprob: -1, top: [] }
    expect(assembler({ wantsLogprobs: true }).push(0, logprob)?.logprobs).toEqual([logprob])
    expect(assembler().push(0, logprob)).not.toHaveProperty('logprobs')
  })
})
