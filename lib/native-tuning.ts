/** What the addon takes and says of the tiles of dense products. */

/** Mirrors LinearTile of cpp/ops/linear_trial.h. */
export interface NativeTile {
  rows: number
  columns: number
  sharing: 'none' | 'x' | 'weight' | 'depth'
}

/** Mirrors TunedLinear there. */
export interface NativeTuned {
  rows: number
  columns: number
  depth: number
  plan: NativeTile
  microseconds: number
  untunedMicroseconds: number
}

/** Mirrors TuningOptions of cpp/engine/tuning.h. */
export interface NativeTuneOptions {
  seconds: number
  /** Of what is known. */
  card: string
  multiprocessors: number
  known: NativeTuned[]
}

/** Mirrors TuningReport there. */
export interface NativeTuning {
  enabled: boolean
  card: string
  multiprocessors: number
  seconds: number
  entries: (NativeTuned & { wasKnown: boolean })[]
  unfinished: number
}
