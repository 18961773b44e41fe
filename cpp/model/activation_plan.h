// Where the activations of a step lie: planned once, for the largest step.
#pragma once

#include "model/batch.h"
#include "model/model_spec.h"

namespace octavo {

/**
 * Offsets in one allocation, aligned to 256. `residual` and `hidden` live through the step; the buffers of a
 * phase share their place with those of the other phases:
 *   attention: qkv, attention    mlp: gateUp, activated    head: lastResidual, lastHidden, logits
 */
struct ActivationPlan {
  size_t residual = 0;      // [T, h]
  size_t hidden = 0;        // [T, h] normed input and output of a phase
  size_t qkv = 0;           // [T, (H + 2·KV)·d] of the widest layer
  size_t attention = 0;     // [T, H·d]
  size_t gateUp = 0;        // [T, 2·I]
  size_t activated = 0;     // [T, I]
  size_t lastResidual = 0;  // [R, h] rows whose logits are wanted
  size_t lastHidden = 0;    // [R, h]
  size_t logits = 0;        // [R, V] fp32
  size_t bytes = 0;

  /** Throws kInvalidArgument for limits below 1 or beyond what 63 bits can plan. */
  static ActivationPlan of(const ModelSpec& spec, DType dtype, const BatchLimits& limits);
};

}  // namespace octavo
