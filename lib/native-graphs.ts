/** What the addon says of recorded decode steps. */

/** Mirrors GraphReport of cpp/engine/decode_graphs.h. */
export interface NativeGraphs {
  enabled: boolean
  buckets: { sequences: number; nodes: number; bytes: number; replays: number; problem: string }[]
  fallbacks: number
  launches: number
  captureMs: number
}
