import { readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Engine, type EngineOptions, type LoadProgress } from '../../../lib/index.js'
import { loadNative } from '../../../lib/native.js'
import { refusal } from '../../refusal.js'
import { copyOfStories, expectNothingLive, loadStories, stories } from './support.js'

afterEach(expectNothingLive)

describe('loading the embedded model', () => {
  it('knows the model and the device', async () => {
    await using engine = await loadStories()
    expect(engine.device).toBe('cpu')
    expect(engine.model).toMatchObject({
      folder: stories,
      architecture: 'LlamaForCausalLM',
      family: 'llama',
      layers: 5,
      hiddenSize: 64,
      vocabularySize: 512,
      contextLength: 512,
      dtype: 'fp32',
      eosTokenIds: [1, 2],
      generation: { greedy: true },
    })
    expect(engine.model.parameters).toBeGreaterThan(250_000)
    expect(engine.tokenizer?.encode('Once upon a time')).toEqual([1, 403, 407, 261, 378])
    expect(engine.hasChatTemplate).toBe(false)
    engine.check()
  })

  it('lets no one change what it knows of the model', async () => {
    await using engine = await loadStories()
    const { model, tokenizer } = engine
    const parts = [model, model.eosTokenIds, model.generation, tokenizer!.eosTokenIds]
    for (const part of parts) expect(Object.isFrozen(part)).toBe(true)
    expect(() => ((model.eosTokenIds as number[]).length = 0)).toThrow(TypeError)
  })

  it('loads a folder by its path, with all defaults', async () => {
    await using engine = await Engine.load(stories)
    expect(engine.model.folder).toBe(stories)
  })

  it.each<EngineOptions>([
    { kv: { blockSize: 16 } },
    { kv: { blockSize: 64 } },
    { memory: { limit: 64 * 2 ** 20, kv: 2 ** 20 } },
    { threads: 1, maxSequences: 1, maxBatchTokens: 1 },
  ])('takes %j', async (options) => {
    await using engine = await loadStories(options)
    using session = engine.createSession()
    const { usage } = await session.generate('Tom', { maxNewTokens: 3 }).result
    expect(usage.completionTokens).toBe(3)
    engine.check()
  })

  it('tells its progress, up to every byte', async () => {
    const seen: LoadProgress[] = []
    await using engine = await loadStories({ onProgress: (progress) => seen.push(progress) })
    expect(seen.length).toBeGreaterThan(0)
    const done = seen.map(({ doneBytes }) => doneBytes)
    expect(done).toEqual([...done].sort((a, b) => a - b))
    expect(seen.at(-1)?.doneBytes).toBe(seen.at(-1)?.totalBytes)
    expect(seen.at(-1)?.totalBytes).toBe(engine.model.weightBytes)
  })
})

describe('a load that is given up', () => {
  it('rejects with the reason of a signal that is aborted already', async () => {
    await expect(loadStories({ signal: AbortSignal.abort('never mind') })).rejects.toBe(
      'never mind',
    )
  })

  it('rejects with the reason of a signal aborted on the way', async () => {
    const controller = new AbortController()
    const reason = new Error('enough')
    const load = loadStories({
      signal: controller.signal,
      onProgress: () => controller.abort(reason),
    })
    await expect(load).rejects.toBe(reason)
  })

  it('rejects with the reason of a signal aborted right after the call', async () => {
    const controller = new AbortController()
    const load = loadStories({ signal: controller.signal })
    controller.abort()
    await expect(load).rejects.toMatchObject({ name: 'AbortError' })
  })

  it('rejects with what onProgress throws', async () => {
    const mistake = new TypeError('a bug of the caller')
    const onProgress = (): void => {
      throw mistake
    }
    await expect(loadStories({ onProgress })).rejects.toBe(mistake)
  })
})

describe('a load that is refused', () => {
  it.each([
    ['/no/such/folder', 'OCTAVO_IO_FAILED', '/no/such/folder'],
    [join(stories, 'config.json'), 'OCTAVO_IO_FAILED', 'config.json'],
    ['', 'OCTAVO_INVALID_ARGUMENT', 'path is ""'],
    ['a\0b', 'OCTAVO_INVALID_ARGUMENT', 'path is "a\\u0000b"'],
  ] as const)('for the path %j', async (path, code, sentence) => {
    await expect(Engine.load(path)).rejects.toEqual(refusal(code, sentence))
  })

  it('for options, before anything is read', async () => {
    const options = { maxSequence: 3 } as EngineOptions
    await expect(Engine.load('/no/such', options)).rejects.toEqual(
      refusal('OCTAVO_UNKNOWN_OPTION', 'did you mean maxSequences?'),
    )
  })

  it('for a limit that the model does not fit', async () => {
    await expect(loadStories({ memory: { limit: 100_000 } })).rejects.toEqual(
      refusal('OCTAVO_OUT_OF_MEMORY'),
    )
    await expect(loadStories({ memory: { limit: 4 * 2 ** 20, kv: 2 ** 30 } })).rejects.toEqual(
      refusal('OCTAVO_OUT_OF_MEMORY'),
    )
  })

  it('for a limit that rounds to nothing, by its own name', async () => {
    const limited = loadStories({ memory: { limit: 5e-324 } })
    await expect(limited).rejects.toEqual(
      refusal('OCTAVO_INVALID_ARGUMENT', 'memory.limit is 5e-324; it must be at least a byte of'),
    )
  })

  it('for a device that is not there', async () => {
    const { built, driverVersion } = loadNative().cudaStatus()
    const code = !built
      ? 'OCTAVO_NO_CUDA_BUILD'
      : driverVersion === 0
        ? 'OCTAVO_NO_DRIVER'
        : 'OCTAVO_NO_DEVICE'
    await expect(loadStories({ device: 'cuda:99' })).rejects.toEqual(refusal(code))
  })
})

describe('a folder', () => {
  let folder: string
  let remove: () => Promise<void>
  beforeEach(async () => ({ folder, remove } = await copyOfStories()))
  afterEach(() => remove())

  const load = (): Promise<Engine> =>
    Engine.load(folder, { device: 'cpu', memory: { kv: 2 ** 20 } })

  it('without a tokenizer loads, and takes ids only', async () => {
    await rm(join(folder, 'tokenizer.json'))
    await using engine = await load()
    using session = engine.createSession()
    expect(engine.tokenizer).toBeNull()
    expect(() => session.generate('text')).toThrow(refusal('OCTAVO_NO_TOKENIZER'))
    expect(() => session.generate([1], { stop: 'x' })).toThrow(refusal('OCTAVO_NO_TOKENIZER'))
    expect(() => session.chat([{ role: 'user', content: 'x' }])).toThrow(
      refusal('OCTAVO_NO_TOKENIZER'),
    )
    const { tokens, text } = await session.generate([1, 403, 407], { maxNewTokens: 4 }).result
    expect(tokens).toEqual([261, 378, 432, 383])
    expect(text).toBe('')
  })

  it('whose chat template does not parse loads and generates; chat says what is wrong', async () => {
    await writeFile(join(folder, 'chat_template.jinja'), '{% if x %}')
    await using engine = await load()
    using session = engine.createSession()
    expect(engine.hasChatTemplate).toBe(false)
    expect(() => session.chat([{ role: 'user', content: 'x' }])).toThrow(
      refusal(
        'OCTAVO_TEMPLATE_FAILED',
        'chat_template.jinja: the chat template "default" does not',
      ),
    )
    const { tokens } = await session.generate([1, 403, 407], { maxNewTokens: 4 }).result
    expect(tokens).toEqual([261, 378, 432, 383])
  })

  it('whose weights are cut short is refused', async () => {
    await truncate(join(folder, 'model.safetensors'), 500_000)
    await expect(load()).rejects.toEqual(refusal('OCTAVO_CHECKPOINT_INVALID', 'model.safetensors'))
  })

  it('whose config is broken JSON is refused', async () => {
    await writeFile(join(folder, 'config.json'), '{ "vocab_size": ')
    await expect(load()).rejects.toEqual(refusal('OCTAVO_CHECKPOINT_INVALID', 'config.json'))
  })

  it('whose tokenizer knows more ids than the model has rows is refused', async () => {
    const path = join(folder, 'tokenizer.json')
    const json = JSON.parse(await readFile(path, 'utf8')) as { model: { vocab: object } }
    Object.assign(json.model.vocab, { extra: 512 })
    await writeFile(path, JSON.stringify(json))
    await expect(load()).rejects.toEqual(refusal('OCTAVO_TOKENIZER_INVALID', '513'))
  })
})
