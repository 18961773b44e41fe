import { readEngineOptions } from '../../../lib/options/engine-options.js'
import { refusal } from '../../refusal.js'

describe('engine options', () => {
  it('fills in every default', () => {
    expect(readEngineOptions(undefined)).toEqual({
      device: 'auto',
      threads: 0,
      limit: 0.85,
      kvBytes: null,
      trace: { level: 0, ringEvents: 65_536, sampleBytes: 2 ** 20, spill: null },
      pinnedBytes: null,
      blockSize: 32,
      kvDType: null,
      eviction: 'page-aware',
      graphs: null,
      tune: null,
      prefix: null,
      dtype: null,
      maxSequences: 256,
      maxBatchTokens: null,
      admission: 'guaranteed',
      dummySeed: null,
      targetInterTokenMs: null,
      overlap: null,
      signal: undefined,
      onProgress: undefined,
    })
  })

  it('takes undefined for absent, at every level', () => {
    const absent = { device: undefined, memory: { limit: undefined }, kv: undefined }
    expect(readEngineOptions(absent)).toEqual(readEngineOptions({}))
  })

  it('keeps what is given', () => {
    const { signal } = new AbortController()
    const settings = readEngineOptions({
      device: 'cuda:1',
      threads: 2,
      memory: { limit: 2 ** 30, kv: 4096 },
      kv: { blockSize: 16, dtype: 'bf16', eviction: 'lru' },
      dtype: 'auto',
      maxSequences: 4,
      maxBatchTokens: 64,
      overlap: true,
      graphs: false,
      signal,
    })
    expect(settings).toMatchObject({
      device: 'cuda:1',
      threads: 2,
      limit: 2 ** 30,
      kvBytes: 4096,
      blockSize: 16,
      kvDType: 'bf16',
      eviction: 'lru',
      dtype: null,
      maxSequences: 4,
      maxBatchTokens: 64,
      overlap: true,
      graphs: false,
      signal,
    })
  })

  it.each([
    [{ devise: 'cpu' }, 'unknown option devise; did you mean device?'],
    [{ max_sequences: 3 }, 'did you mean maxSequences?'],
    [{ memory: { limits: 1 } }, 'unknown option memory.limits; did you mean memory.limit?'],
    [{ kv: { blocksize: 16 } }, 'unknown option kv.blocksize; did you mean kv.blockSize?'],
    [{ quality: 1 }, 'unknown option quality; the options here are device, threads'],
  ])('names the unknown option of %j', (options, sentence) => {
    expect(() => readEngineOptions(options)).toThrow(refusal('OCTAVO_UNKNOWN_OPTION', sentence))
  })

  it.each([
    ['cpu', 'options is "cpu"; it must be an object'],
    [null, 'options is null'],
    [[], 'options is an array of 0'],
    [Promise.resolve({}), 'options is an object (Promise)'],
    [new Map(), 'options is an object (Map)'],
    [new AbortController().signal, 'options is an object (AbortSignal)'],
    [new Date(0), 'options is an object (Date)'],
    [{ memory: new Set() }, 'memory is an object (Set)'],
    [{ kv: new Error('x') }, 'kv is an object (Error)'],
    [{ memory: { trace: Promise.resolve() } }, 'memory.trace is an object (Promise)'],
    [{ signal: Object.create(AbortSignal.prototype) as unknown }, 'signal is an object'],
    [{ signal: new Proxy(new AbortController().signal, {}) }, 'signal is an object'],
    [{ device: 'gpu' }, "device is \"gpu\"; it must be 'auto', 'cpu'"],
    [{ device: 'cuda:x' }, 'device is "cuda:x"'],
    [{ device: 0 }, 'device is 0'],
    [{ device: null }, 'device is null'],
    [{ overlap: 1 }, 'overlap is 1'],
    [{ threads: -1 }, 'threads is -1; it must be an integer from 0 to 1024'],
    [{ threads: 1.5 }, 'threads is 1.5'],
    [{ threads: NaN }, 'threads is NaN'],
    [{ threads: '2' }, 'threads is "2"'],
    [{ memory: 0.5 }, 'memory is 0.5; it must be an object'],
    [{ memory: { limit: 0 } }, 'memory.limit is 0; it must be a number above 0'],
    [{ memory: { limit: NaN } }, 'memory.limit is NaN'],
    [{ memory: { limit: 1.5 } }, 'memory.limit is 1.5; it must be a fraction up to 1 or a whole'],
    [{ memory: { limit: Infinity } }, 'memory.limit is Infinity'],
    [{ memory: { kv: 0 } }, 'memory.kv is 0; it must be an integer of at least 1'],
    [{ kv: { blockSize: 48 } }, 'kv.blockSize is 48; it must be one of 16, 32, 64'],
    [{ kv: { dtype: 'int4' } }, 'kv.dtype is "int4"; it must be one of "auto", "fp32"'],
    [{ kv: { eviction: 'LRU' } }, 'kv.eviction is "LRU"; it must be one of "page-aware", "lru"'],
    [{ dtype: 'float16' }, 'dtype is "float16"'],
    [{ maxSequences: 0 }, 'maxSequences is 0'],
    [{ maxBatchTokens: 2 ** 31 }, 'maxBatchTokens is 2147483648'],
    [{ signal: {} }, 'signal is an object (Object); it must be an AbortSignal'],
    [{ onProgress: true }, 'onProgress is true; it must be a function'],
  ])('refuses %j', (options, sentence) => {
    expect(() => readEngineOptions(options)).toThrow(refusal('OCTAVO_INVALID_ARGUMENT', sentence))
  })
})
