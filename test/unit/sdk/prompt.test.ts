import type { ModelLimits } from '../../../lib/options/model-limits.js'
import { chatIds, promptIds } from '../../../lib/prompt.js'
import type { TextModel } from '../../../lib/text/types.js'
import { wordText } from '../../fakes/text.js'
import { refusal } from '../../refusal.js'

const text = wordText(['a', 'b', 'c'])
const limits: ModelLimits = {
  vocabularySize: 3,
  contextLength: 5,
  eosTokenIds: [],
  defaults: {} as ModelLimits['defaults'],
  hasTokenizer: true,
}

afterEach(() => {
  jest.restoreAllMocks()
})

describe('promptIds', () => {
  it('encodes text and takes ids as they are', () => {
    expect([...promptIds('cab', text, limits)]).toEqual([2, 0, 1])
    expect([...promptIds([2, 2], null, limits)]).toEqual([2, 2])
    expect([...promptIds(Uint16Array.of(1), null, limits)]).toEqual([1])
  })

  it.each([
    [[], 'the prompt has no tokens'],
    ['', 'the prompt has no tokens'],
    [[0, 3], 'prompt[1] is 3; it must be a token id of this model, 0 to 2'],
    [[0.5], 'prompt[0] is 0.5'],
    [[-1], 'prompt[0] is -1'],
    [[NaN], 'prompt[0] is NaN'],
    [Object.assign(new Array(2), { 1: 2 }), 'prompt[0] is undefined'],
    [['a'], 'prompt[0] is "a"'],
    [5, 'prompt is 5; it must be a string, or an array or typed array of token ids'],
    [null, 'prompt is null'],
    [{ length: 1 }, 'prompt is an object (Object)'],
  ])('refuses %p', (prompt, sentence) => {
    expect(() => promptIds(prompt as string, text, limits)).toThrow(
      refusal('OCTAVO_INVALID_ARGUMENT', sentence),
    )
  })

  it('refuses what is longer than the context before it reads any of it', () => {
    const ids: number[] = []
    ids.length = 2 ** 32 - 1
    const read = new Proxy(ids, {
      get: (target, name) => {
        if (name === '0') throw new Error('was read')
        return Reflect.get(target, name) as unknown
      },
    })
    const sentence = 'the prompt has 4294967295 tokens and this model'
    expect(() => promptIds(read, null, limits)).toThrow(
      refusal('OCTAVO_CONTEXT_EXCEEDED', sentence),
    )
    expect(() => promptIds([0, 0, 0, 0, 0], null, limits, 4)).toThrow(
      refusal('OCTAVO_CONTEXT_EXCEEDED', 'at most 4'),
    )
    expect(promptIds([0, 0, 0, 0, 0], null, limits)).toHaveLength(5)
  })

  it('refuses an array whose length is no number', () => {
    const lengthless = new Proxy([0], {
      get: (target, name) => (name === 'length' ? 'x' : (Reflect.get(target, name) as unknown)),
    })
    expect(() => promptIds(lengthless, null, limits)).toThrow(
      refusal('OCTAVO_INVALID_ARGUMENT', 'prompt.length is "x"'),
    )
  })

  it('refuses text that is certainly too long without encoding it', () => {
    const encode = jest.spyOn(text.tokenizer, 'encode')
    const sentence =
      'the prompt has 24 bytes, at least 6 tokens, of which none stands for more than 4 bytes, and this ' +
      "model's context is 5; shorten the prompt to at most 4 tokens"
    const long = 'abcabcab'.repeat(3)
    expect(() => promptIds(long, text, limits, 4)).toThrow(
      refusal('OCTAVO_CONTEXT_EXCEEDED', sentence),
    )
    expect(encode).not.toHaveBeenCalled()
  })

  it('refuses text without a tokenizer', () => {
    expect(() => promptIds('a', null, limits)).toThrow(
      refusal('OCTAVO_NO_TOKENIZER', 'pass token ids'),
    )
  })
})

describe('chatIds', () => {
  const templated: TextModel = {
    tokenizer: text.tokenizer,
    template: {
      problem: null,
      render: (messages, options) =>
        messages.map(({ content }) => String(content)).join('') +
        (options?.addGenerationPrompt === false ? '' : 'c'),
    },
  }

  it('renders, then encodes without special tokens', () => {
    const encode = jest.spyOn(text.tokenizer, 'encode')
    const messages = [{ role: 'user', content: 'ab' }]
    expect([...chatIds(messages, {}, templated, limits)]).toEqual([0, 1, 2])
    expect([...chatIds(messages, { addGenerationPrompt: false }, templated, limits)]).toEqual([
      0, 1,
    ])
    expect(encode).toHaveBeenCalledWith('abc', { addSpecialTokens: false })
  })

  it.each([
    [[], 'messages is an array of 0'],
    [
      Object.assign(new Array(2), { 1: { role: 'user', content: 'a' } }),
      'messages[0] is undefined',
    ],
    ['hello', 'messages is "hello"'],
    [[null], 'messages[0] is null'],
    [[{ role: 'user', content: 5 }], 'messages[0].content is 5; it must be a string, an array'],
    [[{ role: 'user', content: new Date(0) }], 'messages[0].content is an object (Date)'],
    [[{ role: 'user', content: 'a' }, { content: 'b' }], 'messages[1].role is undefined'],
    [[{ role: 'user', content: 'a' }, { role: 'user' }], 'messages[1] has no content; give it'],
    [[{ role: 'user', name: 'b', tool_calls: null }], 'messages[0] has no content'],
  ])('refuses %p', (messages, sentence) => {
    expect(() => chatIds(messages as never, {}, templated, limits)).toThrow(
      refusal('OCTAVO_INVALID_ARGUMENT', sentence),
    )
  })

  it('takes a message that says something other than content', () => {
    const render = jest.spyOn(templated.template!, 'render').mockReturnValue('a')
    for (const said of [{ tool_calls: [{}] }, { thinking: 'b' }, { content: null }]) {
      expect([
        ...chatIds([{ role: 'assistant', ...said } as never], {}, templated, limits),
      ]).toEqual([0])
    }
    expect(render).toHaveBeenCalledTimes(3)
  })

  it('refuses values that hold themselves, and takes those that are held twice', () => {
    const messages = [{ role: 'user', content: 'a' }]
    const cyclic: Record<string, unknown> = { list: [1, {}] }
    ;(cyclic.list as unknown[])[1] = { again: cyclic }
    const cases: [unknown, object, string][] = [
      [messages, { variables: { x: cyclic } }, 'variables.x.list[1].again is variables.x again'],
      [messages, { tools: [cyclic] }, 'tools[0].list[1].again is tools[0] again'],
      [[{ ...messages[0], cyclic }], {}, 'messages[0].cyclic.list[1].again is messages[0].cyclic'],
    ]
    for (const [given, options, sentence] of cases) {
      expect(() => chatIds(given as never, options, templated, limits)).toThrow(
        refusal('OCTAVO_INVALID_ARGUMENT', sentence),
      )
    }
    let twice: object = {}
    for (let level = 0; level < 100; level++) twice = { left: twice, right: twice }
    expect(chatIds(messages, { variables: { twice } }, templated, limits)).toHaveLength(2)
    let deep: object = {}
    for (let level = 0; level < 1e5; level++) deep = { deep }
    expect(() => chatIds(messages, { variables: { deep } }, templated, limits)).toThrow(
      refusal('OCTAVO_INVALID_ARGUMENT', 'variables nests more than 500 levels deep'),
    )
    const boom = new Proxy({}, { ownKeys: () => { throw new Error('boom') } }) // prettier-ignore
    expect(() => chatIds(messages, { tools: [boom] }, templated, limits)).toThrow(
      refusal('OCTAVO_INVALID_ARGUMENT', 'tools[0] cannot be read: boom'),
    )
  })

  it('refuses a conversation that is certainly too long without encoding it', () => {
    const encode = jest.spyOn(text.tokenizer, 'encode')
    const messages = [{ role: 'user', content: 'abc'.repeat(10) }]
    expect(() => chatIds(messages, {}, templated, limits)).toThrow(
      refusal('OCTAVO_CONTEXT_EXCEEDED', 'the prompt has 31 bytes, at least 8 tokens'),
    )
    expect(encode).not.toHaveBeenCalled()
  })

  it('says what is missing', () => {
    const messages = [{ role: 'user', content: 'a' }]
    expect(() => chatIds(messages, {}, null, limits)).toThrow(refusal('OCTAVO_NO_TOKENIZER'))
    expect(() => chatIds(messages, {}, text, limits)).toThrow(refusal('OCTAVO_NO_CHAT_TEMPLATE'))
  })
})
