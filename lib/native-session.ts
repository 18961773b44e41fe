/** What the addon takes and says of sessions. */

/** Milliseconds; 0: as long as it takes. */
export interface NativeStages {
  queueMs: number
  inferenceMs: number
  postMs: number
}

/** Absent: none. */
export interface NativeSessionOptions {
  /** Its KV is shared with sessions of the same tenant alone. */
  tenant?: string
  /** bytes */
  quotaBase?: number
  quotaMax?: number
  stages?: NativeStages
  heartbeatMs?: number
  /** without a heartbeat and without a request */
  idleMs?: number
}

export interface NativeSession {
  id: number
  blocks: number
  /** Of these, on the ledger lines of sessions that have held them longer; not in `bytes`. */
  blocksOfOthers: number
  bytes: number
  tokens: number
  state: string
  /** Of a waiting request, 1 for the next; 0: it does not wait. */
  place: number
  /** Of a sample's session: whose prompt it shares; 0: none. */
  parent: number
}

export interface NativeSessionInfo extends NativeSession {
  tenant: string
  ageMs: number
  /** bytes; 0: none */
  quotaBase: number
  quotaMax: number
  /** 0: no lease */
  heartbeatMs: number
  /** until the lease runs out */
  leaseMs: number
  /** 0: none */
  request: number
  requestAgeMs: number
  stage: 'idle' | 'queue' | 'inference' | 'post'
}
