/** Every error that can be brought about without a card, as a user meets it. */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { openCheckpoint } from '../../../lib/checkpoint/index.js'
import { Engine, type EngineOptions, type Session, type SessionOptions } from '../../../lib/index.js'
import type { ErrorCode } from '../../../lib/errors.js'
import { findAddon } from '../../../lib/native.js'
import { root } from './blocks.js'

const stories = join(root, 'models', 'stories260k')
const loadOptions: EngineOptions = { device: 'cpu', threads: 1, memory: { kv: 2 ** 20 } }
const folders: string[] = []

/** A copy of the model inside with `change` made to it. */
function modelWith(change: (folder: string) => void): string {
  const folder = mkdtempSync(join(tmpdir(), 'octavo-failures-'))
  folders.push(folder)
  cpSync(stories, folder, { recursive: true })
  change(folder)
  return folder
}

export function removeFolders(): void {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true })
}

const configured = (changes: object): string =>
  modelWith((folder) => {
    const path = join(folder, 'config.json')
    const config = JSON.parse(readFileSync(path, 'utf8')) as object
    writeFileSync(path, JSON.stringify({ ...config, ...changes }))
  })

async function load(folder?: string, options: EngineOptions = {}): Promise<void> {
  await using _engine = await Engine.load(folder, { ...loadOptions, ...options })
}

async function inSession(
  call: (session: Session) => unknown,
  folder?: string,
  options: EngineOptions = {},
): Promise<void> {
  await using engine = await Engine.load(folder, { ...loadOptions, ...options })
  using session = engine.createSession()
  await call(session)
}

async function inSessionOf(
  options: SessionOptions,
  call: (session: Session) => unknown,
): Promise<void> {
  await using engine = await Engine.load(undefined, loadOptions)
  using session = engine.createSession(options)
  await call(session)
}

const long = { maxNewTokens: 400, ignoreEos: true }

/** Two generations of one session. */
async function twice(session: Session): Promise<void> {
  await using running = session.generate([1], long)
  await running.next()
  await session.generate([1]).result
}

const hello = [{ role: 'user', content: 'Hello' }]
const strict = "{{ raise_exception('Conversation roles must alternate user/assistant') }}"
const weights = 'model.safetensors'

/** What the command says on stderr. */
async function build(): Promise<void> {
  const command = join(root, 'dist', 'cli', 'index.js')
  const env = { PATH: join(root, 'docs') }
  const { stderr } = spawnSync(process.execPath, [command, 'build'], { env, encoding: 'utf8' })
  const [, message, code] = /^octavo: (.*) \((OCTAVO_\w+)\)\n$/.exec(stderr) ?? []
  throw Object.assign(new Error(message), { code })
}

function withoutAddon(): void {
  const before = process.env['OCTAVO_PREBUILD']
  process.env['OCTAVO_PREBUILD'] = '/opt/octavo'
  try {
    findAddon()
  } finally {
    if (before === undefined) delete process.env['OCTAVO_PREBUILD']
    else process.env['OCTAVO_PREBUILD'] = before
  }
}

export const failures: Partial<Record<ErrorCode, () => unknown>> = {
  OCTAVO_INVALID_ARGUMENT: () => inSession((session) => session.generate('a', { temperature: NaN })),
  OCTAVO_UNKNOWN_OPTION: () =>
    inSession((session) => session.generate('a', { maxTokens: 1 } as object)),
  OCTAVO_CHECKPOINT_INVALID: () =>
    load(modelWith((folder) => truncateSync(join(folder, weights), 1_000_000))),
  OCTAVO_CHECKPOINT_MISMATCH: () => load(configured({ intermediate_size: 176 })),
  OCTAVO_UNSUPPORTED_MODEL: () =>
    load(configured({ architectures: ['MambaForCausalLM'], model_type: 'mamba' })),
  OCTAVO_TOKENIZER_INVALID: () =>
    load(modelWith((folder) => writeFileSync(join(folder, 'tokenizer.json'), '{"model": {"type": "Unigram"}}'))),
  OCTAVO_NO_TOKENIZER: () =>
    inSession(
      (session) => session.generate('a'),
      modelWith((folder) => rmSync(join(folder, 'tokenizer.json'))),
    ),
  OCTAVO_NO_CHAT_TEMPLATE: () => inSession((session) => session.chat(hello)),
  OCTAVO_TEMPLATE_FAILED: () =>
    inSession(
      (session) => session.chat(hello),
      modelWith((folder) => writeFileSync(join(folder, 'chat_template.jinja'), strict)),
    ),
  OCTAVO_OUT_OF_MEMORY: () => load(undefined, { memory: { limit: 1_000_000 } }),
  OCTAVO_CONTEXT_EXCEEDED: () =>
    inSession((session) => session.generate(Array<number>(500).fill(3), { maxNewTokens: 128 })),
  OCTAVO_REQUEST_TOO_LARGE: () =>
    inSession(
      (session) => session.generate(Array<number>(400).fill(3), { maxNewTokens: 100 }).result,
      undefined,
      { memory: { kv: 2 ** 19 } },
    ),
  OCTAVO_SESSION_BUSY: () => inSession(twice),
  OCTAVO_QUOTA_EXCEEDED: () =>
    inSessionOf({ quota: { max: 2 ** 16 } }, (session) => session.generate([1], long).result),
  OCTAVO_TIMED_OUT: () =>
    inSession((session) => session.generate([1], { ...long, timeouts: { inferenceMs: 1 } }).result),
  OCTAVO_LEASE_EXPIRED: () =>
    inSessionOf({ heartbeat: { intervalMs: 1 } }, async (session) => {
      while (session.engine.sessions().length > 0) await setTimeout(1)
      session.heartbeat()
    }),
  OCTAVO_DISPOSED: () =>
    inSession((session) => {
      session.dispose()
      session.generate('a')
    }),
  OCTAVO_CANCELLED: () => openCheckpoint(stories, { signal: AbortSignal.abort() }),
  OCTAVO_IO_FAILED: () => load('/models/x'),
  OCTAVO_NATIVE_MISSING: withoutAddon,
  OCTAVO_BUILD_FAILED: build,
}

/** Words of the sentences that need a card, a driver or a bug of ours; they stand in the sources. */
export const fixedWords: Partial<Record<ErrorCode, readonly string[]>> = {
  OCTAVO_NO_CUDA_BUILD: [
    'this build of octavo has no CUDA code: run `npx octavo build` on a machine ',
    'with nvcc, or open the device "cpu"',
  ],
  OCTAVO_NO_DRIVER: [
    'there is no NVIDIA driver on this machine: install one, or use the device "cpu"',
  ],
  OCTAVO_NO_DEVICE: ['there is no device cuda:', '; this machine has ', ' (cuda:0', ' to cuda:'],
  OCTAVO_KERNELS_UNAVAILABLE: [
    'the kernels of this build (',
    ') do not run on ',
    ', compute capability ',
    ', driver for CUDA ',
    '; update the driver, build octavo for this device, or use the device "cpu"',
  ],
  OCTAVO_DEVICE_FAILED: ['CUDA failed at ', ', error '],
  OCTAVO_INTERNAL: ['KV pool: ', 'blocks of ', ', expected '],
}
