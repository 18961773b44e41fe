/**
 * Rotary embeddings as frequencies. Computed in fp64 and rounded once.
 * Formulas: transformers/modeling_rope_utils.py; YaRN: arXiv 2309.00071.
 */
import type { NativeRope } from '../native.js'

export type RopeParameters = DefaultRope | LinearRope | Llama3Rope | YarnRope

export interface DefaultRope {
  type: 'default'
  theta: number
}

/** Positions divided by `factor`. */
export interface LinearRope {
  type: 'linear'
  theta: number
  factor: number
}

/** Long waves divided by `factor`, short ones kept, a linear blend between (Llama 3.1). */
export interface Llama3Rope {
  type: 'llama3'
  theta: number
  factor: number
  originalPositions: number
  lowFrequencyFactor: number
  highFrequencyFactor: number
}

export interface YarnRope {
  type: 'yarn'
  theta: number
  factor: number
  originalPositions: number
  /** Multiplies cos and sin. */
  attentionFactor: number
  betaFast: number
  betaSlow: number
  /** Whether the ramp's ends are rounded to whole dimensions. */
  truncate: boolean
}

/** Frequencies for heads of `headDim`: element i turns dimensions i and i + headDim / 2. */
export function ropeOf(parameters: RopeParameters, headDim: number): NativeRope {
  const scale = scalingOf(parameters, headDim)
  const inverseFrequencies = Float32Array.from({ length: headDim / 2 }, (_, i) => {
    const frequency = parameters.theta ** ((-2 * i) / headDim)
    return frequency * scale(frequency, i)
  })
  const magnitude = parameters.type === 'yarn' ? parameters.attentionFactor : 1
  return { inverseFrequencies, magnitude }
}

/** YaRN's factor of cos and sin where the config states none: 0.1 · m · ln(factor) + 1. */
export function yarnMagnitude(factor: number, mscale = 1): number {
  return factor <= 1 ? 1 : 0.1 * mscale * Math.log(factor) + 1
}

type Scaling = (frequency: number, index: number) => number

function scalingOf(parameters: RopeParameters, headDim: number): Scaling {
  switch (parameters.type) {
    case 'default':
      return () => 1
    case 'linear':
      return () => 1 / parameters.factor
    case 'llama3':
      return llama3Scaling(parameters)
    case 'yarn':
      return yarnScaling(parameters, headDim)
  }
}

function llama3Scaling(parameters: Llama3Rope): Scaling {
  const {
    factor,
    originalPositions,
    lowFrequencyFactor: low,
    highFrequencyFactor: high,
  } = parameters
  return (frequency) => {
    const waves = (originalPositions * frequency) / (2 * Math.PI)
    const kept = clampUnit((waves - low) / (high - low))
    return kept + (1 - kept) / factor
  }
}

function yarnScaling(parameters: YarnRope, headDim: number): Scaling {
  const { theta, factor, originalPositions, truncate } = parameters
  const dimensionOf = (rotations: number): number =>
    (headDim * Math.log(originalPositions / (rotations * 2 * Math.PI))) / (2 * Math.log(theta))
  const fast = dimensionOf(parameters.betaFast)
  const slow = dimensionOf(parameters.betaSlow)
  const low = Math.max(truncate ? Math.floor(fast) : fast, 0)
  const high = Math.min(truncate ? Math.ceil(slow) : slow, headDim - 1)
  const width = high === low ? 0.001 : high - low
  return (_, index) => {
    const divided = clampUnit((index - low) / width)
    return 1 - divided + divided / factor
  }
}

function clampUnit(value: number): number {
  return Math.min(Math.max(value, 0), 1)
}
