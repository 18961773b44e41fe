/** `engine.sessions()`: who is there, and what each holds and may. */
import type { SessionReport } from './memory.js'
import type { NativeSessionInfo } from './native-session.js'

/** One session, now. */
export interface SessionInfo extends SessionReport {
  tenant: string
  /** Milliseconds since it was created. */
  ageMs: number
  /** 'idle': no request. 'queue': it waits to begin. 'inference'. 'post': its caller reads nothing of what is there. */
  stage: 'idle' | 'queue' | 'inference' | 'post'
  /** Milliseconds since its request was submitted; null where there is none. */
  requestAgeMs: number | null
  /** Bytes of KV; null: it has none. */
  quota: { base: number; max: number } | null
  /** Milliseconds between heartbeats, and until it is reclaimed without one; null: it has no lease. */
  lease: { intervalMs: number; expiresInMs: number } | null
}

export function sessionInfo(native: NativeSessionInfo): SessionInfo {
  const { quotaBase, quotaMax, heartbeatMs, leaseMs, request, requestAgeMs, ...info } = native
  return {
    ...info,
    requestAgeMs: request === 0 ? null : requestAgeMs,
    quota: quotaMax === 0 ? null : { base: quotaBase, max: quotaMax },
    lease: heartbeatMs === 0 ? null : { intervalMs: heartbeatMs, expiresInMs: leaseMs },
  }
}
