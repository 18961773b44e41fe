/** Everything that is refused, and how. Nothing refused leaves a trace. */
import type { NativeEngineOptions, NativeLoad } from '../../lib/native.js'
import { story } from '../helpers/goldens.js'
import {
  blockBytes,
  defaultOptions,
  greedy,
  native,
  TestEngine,
  type RequestOptions,
} from '../helpers/native-engine.js'
import { refusal } from '../helpers/refusal.js'
import { storiesManifest, storiesSpec } from '../helpers/stories-model.js'
import { expectNothingLive } from '../helpers/nothing-live.js'

describe('a request', () => {
  let engine: TestEngine
  let session: number
  beforeAll(async () => {
    engine = await TestEngine.load({ kvBytes: 8 * blockBytes() })
    session = engine.native.createSession()
  })
  afterAll(async () => {
    expect(engine.native.report()).toMatchObject({
      running: 0,
      waiting: 0,
      blocksFree: 8,
      steps: 0,
    })
    engine.native.check()
    await engine.close()
  })

  const invalid: [string, RequestOptions, RegExp][] = [
    ['an empty prompt', { prompt: [] }, /no tokens/],
    [
      'an id beyond the vocabulary',
      { prompt: [1, 2, 512] },
      /token id 512 at position 2.*0 to 511/,
    ],
    ['a negative id', { prompt: [-1] }, /token id -1 at position 0/],
    ['no new tokens', { maxNewTokens: 0 }, /maxNewTokens is 0.*at least 1/],
    ['negative new tokens', { maxNewTokens: -5 }, /maxNewTokens is -5/],
    ['new tokens of a score', { score: true, maxNewTokens: 3 }, /maxNewTokens is 3.*give 0/],
    ['a negative temperature', { temperature: -0.5 }, /temperature is -0.5/],
    ['NaN', { temperature: NaN }, /temperature is nan/i],
    ['infinity', { frequencyPenalty: Infinity }, /frequencyPenalty is inf/i],
    ['topP 0', { topP: 0 }, /topP is 0.*above 0/],
    ['topP above 1', { topP: 1.5 }, /topP is 1.5/],
    ['a negative topK', { topK: -1 }, /topK is -1/],
    ['minP above 1', { minP: 2 }, /minP is 2/],
    ['a repetition penalty of 0', { repetitionPenalty: 0 }, /repetitionPenalty is 0/],
    ['21 alternatives', { topLogprobs: 21 }, /topLogprobs is 21.*0 to 20/],
    [
      'a stop token beyond the vocabulary',
      { stopTokens: [2, 600] },
      /stopTokens holds token id 600 at position 1/,
    ],
    ['negative credits', { credits: -1 }, /credits are -1/],
    [
      'a bias on no token',
      { biasTokens: Int32Array.of(700), biasValues: Float32Array.of(1) },
      /token id 700/,
    ],
    [
      'a NaN bias',
      { biasTokens: Int32Array.of(7), biasValues: Float32Array.of(NaN) },
      /bias of token 7 is nan/i,
    ],
    [
      'an infinite bias',
      { biasTokens: Int32Array.of(7), biasValues: Float32Array.of(Infinity) },
      /bias of token 7/,
    ],
    [
      'a bias twice',
      { biasTokens: Int32Array.of(7, 7), biasValues: Float32Array.of(1, 2) },
      /token 7 twice/,
    ],
    [
      'biases without values',
      { biasTokens: Int32Array.of(7), biasValues: new Float32Array() },
      /biasTokens has 1.*biasValues 0/,
    ],
    [
      'a bias that forbids every token',
      {
        biasTokens: Int32Array.from({ length: 512 }, (_, token) => token),
        biasValues: new Float32Array(512).fill(-Infinity),
      },
      /forbid all 512 tokens.*leave at least one/,
    ],
    ['a fraction of a token', { maxNewTokens: 1.5 }, /maxNewTokens is 1.5/],
  ]
  test.each(invalid)('with %s is invalid', (_, options, sentence) => {
    const { code, message } = refusal(() => engine.start(session, options))
    expect(code).toBe('OCTAVO_INVALID_ARGUMENT')
    expect(message).toMatch(sentence)
  })

  test.each([
    ['prompt', [1]],
    ['prompt', Float32Array.of(1)],
    ['maxNewTokens', '3'],
    ['seed', 1],
    ['seed', -1n],
    ['seed', 2n ** 64n],
    ['score', 1],
    ['stopTokens', undefined],
    ['temperature', null],
  ])('whose %s is %p is invalid by name', (field, value) => {
    const { code, message } = refusal(() =>
      engine.native.submit(session, { ...greedy, [field]: value }),
    )
    expect(code).toBe('OCTAVO_INVALID_ARGUMENT')
    expect(message).toContain(field)
  })

  test('longer than the context says both lengths', () => {
    const { code, message } = refusal(() =>
      engine.start(session, { prompt: story.slice(0, 200), maxNewTokens: 313 }),
    )
    expect(code).toBe('OCTAVO_CONTEXT_EXCEEDED')
    expect(message).toMatch(/200 tokens.*313.*513.*512/)
  })

  test('larger than the pool says both numbers of blocks', () => {
    const { code, message } = refusal(() =>
      engine.start(session, { prompt: story.slice(0, 100), maxNewTokens: 29 }),
    )
    expect(code).toBe('OCTAVO_REQUEST_TOO_LARGE')
    expect(message).toMatch(/\(129\) need 9 KV blocks.*the whole pool has 8/)
  })

  test('in a session that is not there', () => {
    expect(refusal(() => engine.start(999)).code).toBe('OCTAVO_INVALID_ARGUMENT')
    const gone = engine.native.createSession()
    void engine.native.disposeSession(gone)
    expect(refusal(() => engine.start(gone))).toMatchObject({
      code: 'OCTAVO_DISPOSED',
      message: expect.stringContaining(String(gone)),
    })
  })

  test('ids that are no ids', () => {
    expect(refusal(() => engine.native.cancel('1' as unknown as number)).code).toBe(
      'OCTAVO_INVALID_ARGUMENT',
    )
    expect(refusal(() => engine.native.grant(1, 0)).message).toMatch(/tokens is 0/)
    expect(refusal(() => engine.native.submit(-1, greedy)).message).toMatch(/session is -1/)
    engine.native.cancel(123456)
    engine.native.grant(123456, 1)
  })

  test('methods taken off the engine are refused, not crashed on', () => {
    const methods = Object.getPrototypeOf(engine.native) as Record<string, () => unknown>
    for (const name of [
      'createSession',
      'submit',
      'report',
      'dispose',
      'disposeAsync',
      'disposeSession',
      'forkSession',
      'clearPrefixCache',
      'cancel',
      'grant',
      'check',
    ]) {
      for (const self of [{}, undefined, 5, native, Object.create(engine.native) as object]) {
        expect(() => methods[name]!.call(self)).toThrow(
          /Illegal invocation|called on something else/,
        )
      }
    }
    const Class = engine.native.constructor as new () => unknown
    expect(refusal(() => new Class()).message).toMatch(/loadEngine/)
  })
})

describe('a load', () => {
  afterEach(() => {
    expectNothingLive()
  })
  const load = (changes: Partial<NativeLoad>): NativeLoad => ({
    device: 'cpu',
    threads: 1,
    spec: storiesSpec,
    manifest: storiesManifest(),
    options: defaultOptions,
    onProgress: () => {},
    onEvents: () => {},
    ...changes,
  })

  test.each([
    ['device', 7],
    ['threads', '1'],
    ['spec', null],
    ['manifest', undefined],
    ['options', 'large'],
    ['onEvents', {}],
    ['onProgress', undefined],
  ])('whose %s is %p throws at once', (field, value) => {
    const { code, message } = refusal(() => native.loadEngine(load({ [field]: value })))
    expect(code).toBe('OCTAVO_INVALID_ARGUMENT')
    expect(message).toContain(`load.${field}`)
  })

  const options: [Partial<NativeEngineOptions>, string, RegExp][] = [
    [{ maxSequences: 0 }, 'OCTAVO_INVALID_ARGUMENT', /maxSequences is 0/],
    [{ maxBatchTokens: 0 }, 'OCTAVO_INVALID_ARGUMENT', /maxBatchTokens is 0/],
    [{ blockSize: 24 }, 'OCTAVO_INVALID_ARGUMENT', /blockSize is 24; give 16, 32 or 64/],
    [{ memoryLimit: 0 }, 'OCTAVO_INVALID_ARGUMENT', /memory\.limit is 0 bytes/],
    [{ kvBytes: 100 }, 'OCTAVO_INVALID_ARGUMENT', /memory.kv is 100.*takes 20480 bytes/],
    [
      { memoryLimit: 2 ** 20 },
      'OCTAVO_OUT_OF_MEMORY',
      /does not fit by \d+ bytes.*weights \d+ bytes.*activations.*sampling.*kv 16777216 bytes.*1048576/,
    ],
    [{ memoryLimit: 2 ** 20, kvBytes: 0 }, 'OCTAVO_OUT_OF_MEMORY', /does not fit by/],
    [{ kvBytes: 2 ** 50, memoryLimit: 2 ** 52 }, 'OCTAVO_OUT_OF_MEMORY', /bytes free/],
  ]
  test.each(options)('with %p is refused', async (changes, code, sentence) => {
    const { promise } = native.loadEngine(load({ options: { ...defaultOptions, ...changes } }))
    const error = (await promise.then(
      () => undefined,
      (reason: unknown) => reason,
    )) as { code: string; message: string }
    expect(Object.prototype.toString.call(error)).toBe('[object Error]') // of the main context, not of jest's
    expect(error.code).toBe(code)
    expect(error.message).toMatch(sentence)
  })

  test('of a device that is not there, a broken spec, a missing file', async () => {
    const code = async (changes: Partial<NativeLoad>): Promise<string> =>
      native.loadEngine(load(changes)).promise.then(
        () => 'loaded',
        (reason: { code: string }) => reason.code,
      )
    expect(await code({ device: 'tpu' })).toBe('OCTAVO_INVALID_ARGUMENT')
    expect(await code({ threads: -1 })).toBe('OCTAVO_INVALID_ARGUMENT')
    expect(await code({ spec: { ...storiesSpec, hiddenSize: -1 } })).toBe('OCTAVO_INVALID_ARGUMENT')
    expect(await code({ manifest: { ...storiesManifest(), files: ['/no/such/file'] } })).toBe(
      'OCTAVO_IO_FAILED',
    )
    expect(await code({ manifest: { ...storiesManifest(), entries: [] } })).toBe(
      'OCTAVO_CHECKPOINT_MISMATCH',
    )
  })

  test('an automatic KV size fills what the limit leaves, at most a quarter of it', async () => {
    const engine = await TestEngine.load({
      kvBytes: 0,
      memoryLimit: 64 * 2 ** 20,
      maxSequences: 256,
    })
    const { blocksTotal, blockBytes: bytes, regions } = engine.native.report()
    expect(blocksTotal * bytes).toBeLessThanOrEqual(16 * 2 ** 20)
    expect(blocksTotal).toBe(Math.floor((16 * 2 ** 20) / bytes))
    for (const { region, limitBytes, allocatedBytes } of regions) {
      const held = region === 'kv' ? 0 : limitBytes // its pages come as they are needed
      expect([region, allocatedBytes]).toEqual([region, held])
    }
    await engine.close()
  })

  test('an automatic KV size is never more than all sequences could use', async () => {
    const engine = await TestEngine.load({ kvBytes: 0, memoryLimit: 2 ** 30, maxSequences: 2 })
    expect(engine.native.report().blocksTotal).toBe((2 * 512) / 16)
    await engine.close()
  })
})
