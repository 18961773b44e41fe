/** Values that throw when they are read, whatever is asked of them: every call answers with an OctavoError. */
import { Engine, OctavoError, type Session } from '../../../lib/index.js'
import { readEngineOptions } from '../../../lib/options/engine-options.js'
import { readPlanOptions } from '../../../lib/options/plan-options.js'
import { fakeEngine, words, type FakeEngine } from '../../fakes/engine.js'
import { wordText } from '../../fakes/text.js'

const boom = (): never => {
  throw new TypeError('boom')
}

function revoked(target: object): unknown {
  const { proxy, revoke } = Proxy.revocable(target, {})
  revoke()
  return proxy
}

/** Throws on whatever is done to it. */
function trapped(target: object): unknown {
  const traps = Object.getOwnPropertyNames(Reflect).map((trap) => [trap, boom])
  return new Proxy(target, Object.fromEntries(traps) as ProxyHandler<object>)
}

const hostileObjects = (target: object): unknown[] => [revoked(target), trapped(target)]
const throwing = (name: string, thrown: unknown = new TypeError('boom')): object =>
  Object.defineProperty({}, name, {
    enumerable: true,
    get: () => {
      throw thrown as Error
    },
  })

/** The code of what it throws, or rejects with; raw errors as they are. */
async function outcome(call: () => unknown): Promise<unknown> {
  try {
    await call()
    return 'no error'
  } catch (error) {
    return error instanceof OctavoError ? error.code : error
  }
}

let fake: FakeEngine
let session: Session
beforeEach(() => {
  const text = wordText(words)
  fake = fakeEngine({ ...text, template: { problem: null, render: () => 'ab' } })
  session = fake.engine.createSession()
})
afterEach(() => {
  fake.engine.dispose()
})

const messages = [{ role: 'user', content: 'a' }]
const calls: [string, (options: never) => unknown][] = [
  ['generate', (options) => session.generate('a', options)],
  ['chat', (options) => session.chat(messages, options)],
  ['createSession', (options) => fake.engine.createSession(options)],
  ['logits', (options) => fake.engine.logits('a', options)],
  ['memory', (options) => fake.engine.memory(options)],
  ['Engine.load', (options) => Engine.load(undefined, options)],
  ['Engine.plan', (options) => Engine.plan(undefined, options)],
]

test.each(calls)('%s with an options object that cannot be read', async (_, call) => {
  for (const options of hostileObjects({})) {
    expect(await outcome(() => call(options as never))).toBe('OCTAVO_INVALID_ARGUMENT')
  }
})

const generateNames = [
  ...['maxNewTokens', 'temperature', 'topK', 'topP', 'minP', 'repetitionPenalty', 'seed', 'n'],
  ...['frequencyPenalty', 'presencePenalty', 'logitBias', 'stop', 'stopTokens', 'ignoreEos'],
  ...['logprobs', 'keepSpecialTokens', 'priority', 'timeouts', 'signal'],
]
const named: [string, (options: never) => unknown, string[]][] = [
  ['generate', (options) => session.generate('a', options), generateNames],
  [
    'chat',
    (options) => session.chat(messages, options),
    [...generateNames, 'addGenerationPrompt', 'tools', 'variables'],
  ],
  [
    'createSession',
    (options) => fake.engine.createSession(options),
    ['tenant', 'quota', 'timeouts', 'heartbeat'],
  ],
  [
    'engine options',
    readEngineOptions,
    ['device', 'memory', 'kv', 'dtype', 'prefixCache', 'signal'],
  ],
  ['plan options', readPlanOptions, ['assume', 'context', 'sessions', 'memory', 'kv']],
]

test.each(named)('%s with an option that throws, or cannot be read', async (_, call, names) => {
  for (const name of names) {
    const error: unknown = await outcome(() => call(throwing(name) as never))
    expect([name, error]).toEqual([name, 'OCTAVO_INVALID_ARGUMENT'])
    for (const value of [
      ...hostileObjects({}),
      ...hostileObjects([]),
      ...hostileObjects(new Map()),
    ]) {
      const code = await outcome(() => call({ [name]: value } as never))
      // `tools` and `variables` are the template's.
      const mayPass = ['variables', 'tools'].includes(name)
      expect([name, mayPass && code === 'no error' ? 'OCTAVO_INVALID_ARGUMENT' : code]).toEqual([
        name,
        'OCTAVO_INVALID_ARGUMENT',
      ])
    }
  }
})

test.each([null, 5, 'words', Symbol('s'), revoked({}), trapped({})])(
  'whatever it is that is thrown: %#',
  async (thrown) => {
    const options = throwing('topK', thrown)
    expect(await outcome(() => session.generate('a', options))).toBe('OCTAVO_INVALID_ARGUMENT')
  },
)

test('the sentence says which value it was, and why', () => {
  const sentence = 'topK cannot be read: boom; pass values that can'
  expect(() => session.generate('a', throwing('topK'))).toThrow(sentence)
  const nested = { kv: throwing('blockSize') }
  expect(() => readEngineOptions(nested)).toThrow('kv.blockSize cannot be read: boom')
})

test('an option is read once', () => {
  let reads = 0
  const options = {
    get maxNewTokens(): number {
      return 5 + 100 * reads++
    },
  }
  void session.generate('a', options).result
  expect(fake.native.submitted).toMatchObject([{ maxNewTokens: 5 }])
})

test('prompts, messages, biases and lists of ids that cannot be read', async () => {
  const hostileArrays = [
    ...hostileObjects([]),
    throwing('0'),
    [throwing('role')],
    [throwing('content')],
  ]
  for (const value of [...hostileArrays, ...hostileObjects({})]) {
    for (const call of [
      () => session.generate(value as never),
      () => session.chat(value as never),
      () => session.generate('a', { logitBias: value as never }),
      () => session.generate('a', { logitBias: { 1: value as never } }),
      () => session.generate('a', { stopTokens: value as never }),
      () => session.generate('a', { stop: value as never }),
      () => fake.engine.logits(value as never),
      () => fake.engine.setTraceLevel(value as never),
      () => Engine.load(value as never),
    ]) {
      expect(await outcome(call)).toMatch(/^OCTAVO_(INVALID_ARGUMENT|UNKNOWN_OPTION)$/)
    }
  }
})
