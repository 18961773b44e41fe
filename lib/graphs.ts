/** `engine.graphs()`: decode steps that were recorded, and what they are used for. */
import type { NativeGraphs } from './native-graphs.js'

/** Steps of so many sequences, or of fewer, padded. */
export interface GraphBucket {
  sequences: number
  /** Whether its steps are replayed; else they are launched kernel by kernel. */
  captured: boolean
  /** Operations of the device. */
  nodes: number
  /** That the driver took for it, by its own count: of all processes where it does not count by process. 0 on the CPU. */
  bytes: number
  /** Steps since the load. */
  replays: number
  /** Why it was not captured; null where it was. */
  problem: string | null
}

export interface GraphReport {
  /** Option `graphs`. */
  enabled: boolean
  /** From the smallest. */
  buckets: GraphBucket[]
  /** Steps of decodes alone, since the load, for which there was no graph. */
  fallbacks: number
  /** Of the host, since the load, for the steps that were replayed: graphs, kernels and copies. */
  launches: number
  /** Milliseconds that the load took to record them. */
  captureMs: number
}

export function graphReport({ buckets, ...report }: NativeGraphs): GraphReport {
  const describe = ({ problem, ...bucket }: NativeGraphs['buckets'][number]): GraphBucket => ({
    ...bucket,
    captured: problem === '',
    problem: problem === '' ? null : problem,
  })
  return { ...report, buckets: buckets.map(describe) }
}
