/** Rotary settings of a config, whichever way it spells them. */
import { yarnMagnitude, type RopeParameters, type YarnRope } from '../families/rope.js'
import { largestContext } from './config.js'
import type { Fields } from './fields.js'
import { shorten } from './fields.js'

/** transformers' theta where no file states one. */
const defaultTheta = 10_000

/** No model's: a number above it is a slip and would leave fp32. */
const largest = 1e15

/** What cpp/model/model_spec.cc takes as a rope's magnitude; an mscale is multiplied by up to 4.5 (YaRN). */
const largestMagnitude = 1e6
const largestScale = largestMagnitude / 10

/**
 * Rotary parameters for layers of a type. transformers 5 writes `rope_parameters` (flat, or one object a
 * layer type); transformers 4 `rope_theta` and `rope_scaling` with `rope_type` or `type`.
 * Throws OCTAVO_UNSUPPORTED_MODEL for types we do not run, OCTAVO_CHECKPOINT_INVALID for bad numbers.
 */
export function ropeParametersOf(
  fields: Fields,
  layerType: string,
  maxPositions: number,
): RopeParameters {
  const rope = ropeFieldsOf(fields, layerType)
  for (const part of [rope, fields]) refusePartial(part)
  const theta = thetaOf(rope) ?? thetaOf(fields) ?? defaultTheta
  const originalPositions =
    fields.optionalInteger('original_max_position_embeddings') ??
    rope.optionalInteger('original_max_position_embeddings')
  const key = rope.firstOf('rope_type', 'type') ?? 'rope_type'
  const type = rope === fields ? 'default' : (rope.optionalString(key) ?? 'default')
  switch (type) {
    case 'default':
      return { type, theta }
    case 'linear':
      return { type, theta, factor: factorOf(rope) }
    case 'llama3': {
      const lowFrequencyFactor = rope.number('low_freq_factor', { max: largest })
      const highFrequencyFactor = rope.number('high_freq_factor', { max: largest })
      if (highFrequencyFactor <= lowFrequencyFactor) {
        throw rope.refusal('high_freq_factor', `above low_freq_factor ${lowFrequencyFactor}`)
      }
      const waves = { lowFrequencyFactor, highFrequencyFactor }
      return {
        type,
        theta,
        factor: factorOf(rope),
        originalPositions: originalPositions ?? maxPositions,
        ...waves,
      }
    }
    case 'yarn':
      return yarnOf(rope, theta, maxPositions, originalPositions ?? maxPositions)
    case 'dynamic':
      refuseDynamic(rope, key, maxPositions, originalPositions ?? maxPositions)
      return { type: 'default', theta }
    default: {
      const known =
        'octavo runs default, linear, llama3, yarn and, within the original length, dynamic'
      throw rope.unsupported(key, `is "${shorten(type)}"; ${known}`)
    }
  }
}

/**
 * Tokens that a model with such a rope takes: `max_position_embeddings`, and with YaRN what the factor makes
 * of the original length where that is more (Qwen's configs keep the original in both).
 */
export function contextLengthOf(parameters: RopeParameters, maxPositions: number): number {
  if (parameters.type !== 'yarn') return maxPositions
  const stretched = Math.floor(parameters.originalPositions * parameters.factor)
  return Math.max(maxPositions, Math.min(stretched, largestContext))
}

/** The object that states the rope; the config itself where none does. */
function ropeFieldsOf(fields: Fields, layerType: string): Fields {
  const key = fields.firstOf('rope_parameters', 'rope_scaling')
  const outer = key === null ? null : fields.optionalObject(key)
  if (key === null || outer === null) return fields
  const perLayerType = Object.keys(outer.values).some((name) => name.endsWith('_attention'))
  if (!perLayerType) return outer
  const inner = outer.optionalObject(layerType)
  if (inner !== null) return inner
  throw fields.unsupported(key, `has no rotary embedding for "${layerType}" layers`)
}

function yarnOf(
  rope: Fields,
  theta: number,
  maxPositions: number,
  originalPositions: number,
): YarnRope {
  const factor = rope.has('factor') ? factorOf(rope) : Math.max(maxPositions / originalPositions, 1)
  const optional = (key: string): number | null => rope.optionalNumber(key, { max: largest })
  const betaFast = optional('beta_fast') ?? 32
  const betaSlow = optional('beta_slow') ?? 1
  if (betaFast < betaSlow) throw rope.refusal('beta_fast', `at least beta_slow ${betaSlow}`)
  return {
    type: 'yarn',
    theta,
    factor,
    originalPositions,
    attentionFactor:
      rope.optionalNumber('attention_factor', { max: largestMagnitude }) ??
      attentionFactorOf(rope, factor),
    betaFast,
    betaSlow,
    truncate: rope.optionalBoolean('truncate') ?? true,
  }
}

/** Both mscale keys, when present and not zero, replace the paper's factor by their quotient. */
function attentionFactorOf(rope: Fields, factor: number): number {
  const [mscale, mscaleAllDim] = ['mscale', 'mscale_all_dim'].map((key) =>
    rope.value(key) === 0 ? null : rope.optionalNumber(key, { max: largestScale }),
  )
  if (!mscale || !mscaleAllDim) return yarnMagnitude(factor)
  return yarnMagnitude(factor, mscale) / yarnMagnitude(factor, mscaleAllDim)
}

/** Within the original length dynamic NTK is the default rope; beyond it every length has its own. */
function refuseDynamic(
  rope: Fields,
  key: string,
  maxPositions: number,
  originalPositions: number,
): void {
  factorOf(rope)
  if (maxPositions <= originalPositions) return
  const lengths = `max_position_embeddings ${maxPositions} passes the original ${originalPositions}`
  const why = 'its frequencies change with the length of the text'
  throw rope.unsupported(
    key,
    `is "dynamic": ${why}, and ${lengths}; set "yarn" or "linear", or lower it`,
  )
}

function thetaOf(fields: Fields): number | null {
  return fields.optionalNumber('rope_theta', { above: 1, max: largest })
}

function factorOf(rope: Fields): number {
  const factor = rope.number('factor', { max: largest })
  if (factor < 1) throw rope.refusal('factor', 'at least 1')
  return factor
}

function refusePartial(fields: Fields): void {
  const key = 'partial_rotary_factor'
  const part = fields.optionalNumber(key)
  if (part === null || part === 1) return
  throw fields.unsupported(key, `is ${part}; octavo turns whole heads only (1)`)
}
