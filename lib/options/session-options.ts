/** What `engine.createSession` accepts, and `timeouts` of one generation. */
import type { NativeSessionOptions, NativeStages } from '../native-session.js'
import { invalid, isBag, OptionReader } from './reader.js'

/** Bytes of KV that one session may hold. */
export interface QuotaOptions {
  /**
   * What it keeps between its turns before others' idle KV: when blocks are wanted, sessions lose what they hold beyond
   * their base first. Idle, its base is lent: nobody waits while it is unused. Default 0.
   */
  base?: number | undefined
  /** What a request may come to need, prompt and new tokens: more is refused with OCTAVO_QUOTA_EXCEEDED. */
  max: number
}

/** Milliseconds that a request may spend in each stage; it is stopped with OCTAVO_TIMED_OUT. Left out: no limit. */
export interface TimeoutOptions {
  /** From the call until it begins. */
  queueMs?: number | undefined
  /** From then on, without `postMs`. */
  inferenceMs?: number | undefined
  /** In which its caller reads none of what it has made, without a break, while it waits for that. */
  postMs?: number | undefined
}

/** A lease: whoever holds the session calls `session.heartbeat()`. */
export interface HeartbeatOptions {
  /** Milliseconds between two calls. Three in a row missed while a request waits or runs: the session is reclaimed. */
  intervalMs: number
  /** The same without a request: so long without a call. Default: twice the interval. */
  idleMs?: number | undefined
}

/** Every field may be left out. */
export interface SessionOptions {
  /**
   * Whose it is: any text but an empty one. Sessions find each other's KV in the prefix cache only where their tenants are equal: how
   * fast a prompt begins says nothing of what others have asked; and waiting requests are served fairly between
   * tenants. Default: one tenant of all who name none.
   */
  tenant?: string | undefined
  /** true: `{ base: 512 MiB, max: 2 GiB }`. Default: none. */
  quota?: boolean | QuotaOptions | undefined
  /** Of its generations. 'short': `{ queueMs: 1000, inferenceMs: 4000, postMs: 500 }`. Default: none. */
  timeouts?: 'short' | TimeoutOptions | undefined
  /** true: `{ intervalMs: 15_000, idleMs: 30_000 }`. Default: none, the session lives until it is disposed. */
  heartbeat?: boolean | HeartbeatOptions | undefined
}

const MiB = 2 ** 20
const sessionNames = { tenant: true, quota: true, timeouts: true, heartbeat: true } as const
const timeoutNames = { queueMs: true, inferenceMs: true, postMs: true } as const
const shortAnswers: NativeStages = { queueMs: 1000, inferenceMs: 4000, postMs: 500 }
const bytes = { min: 1, max: Number.MAX_SAFE_INTEGER }
const milliseconds = { min: 1, max: 365 * 24 * 3600 * 1000 }

function readQuota(given: unknown): Pick<NativeSessionOptions, 'quotaBase' | 'quotaMax'> {
  if (given === undefined || given === false) return {}
  if (given === true) return { quotaBase: 512 * MiB, quotaMax: 2048 * MiB }
  if (!isBag(given)) throw invalid('quota', given, 'true, false or { base, max }')
  const read = new OptionReader<QuotaOptions>(given, { base: true, max: true }, 'quota')
  const max = read.integer('max', bytes)
  if (max === undefined) throw read.invalid('max', 'a number of bytes')
  const base = read.integer('base', { ...bytes, min: 0 }) ?? 0
  if (base > max) throw read.invalid('base', `at most quota.max, ${max}`)
  return { quotaBase: base, quotaMax: max }
}

/** null: none. Throws OCTAVO_UNKNOWN_OPTION and OCTAVO_INVALID_ARGUMENT. */
export function readTimeouts(given: unknown): NativeStages | null {
  if (given === undefined) return null
  if (given === 'short') return shortAnswers
  if (!isBag(given)) {
    throw invalid('timeouts', given, "'short' or { queueMs, inferenceMs, postMs }")
  }
  const read = new OptionReader<TimeoutOptions>(given, timeoutNames, 'timeouts')
  return {
    queueMs: read.integer('queueMs', milliseconds) ?? 0,
    inferenceMs: read.integer('inferenceMs', milliseconds) ?? 0,
    postMs: read.integer('postMs', milliseconds) ?? 0,
  }
}

function readHeartbeat(given: unknown): Pick<NativeSessionOptions, 'heartbeatMs' | 'idleMs'> {
  if (given === undefined || given === false) return {}
  if (given === true) return { heartbeatMs: 15_000, idleMs: 30_000 }
  if (!isBag(given)) throw invalid('heartbeat', given, 'true, false or { intervalMs, idleMs }')
  const names = { intervalMs: true, idleMs: true } as const
  const read = new OptionReader<HeartbeatOptions>(given, names, 'heartbeat')
  const interval = read.integer('intervalMs', milliseconds)
  if (interval === undefined) throw read.invalid('intervalMs', 'a number of milliseconds')
  return { heartbeatMs: interval, idleMs: read.integer('idleMs', milliseconds) ?? 2 * interval }
}

/** Names go to the engine as UTF-8, where all lone surrogates are one character. */
const isName = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && Buffer.from(value).toString() === value

/** Throws OCTAVO_UNKNOWN_OPTION and OCTAVO_INVALID_ARGUMENT. */
export function readSessionOptions(options: unknown): NativeSessionOptions {
  const read = new OptionReader<SessionOptions>(options, sessionNames)
  const tenant = read.raw('tenant')
  if (tenant !== undefined && !isName(tenant)) {
    throw read.invalid('tenant', 'a string that is not empty and has no lone surrogates')
  }
  const stages = readTimeouts(read.raw('timeouts'))
  return {
    ...(tenant !== undefined && { tenant }),
    ...readQuota(read.raw('quota')),
    ...(stages !== null && { stages }),
    ...readHeartbeat(read.raw('heartbeat')),
  }
}
