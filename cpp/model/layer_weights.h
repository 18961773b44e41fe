// The parameters of one layer, looked up once.
#pragma once

#include "model/weights.h"

namespace octavo {

/** Shapes: see parametersOf. Vectors the layer does without are absent (data == nullptr). */
struct LayerWeights {
  Vector attentionNorm, qkvBias, queryNorm, keyNorm, outputBias, mlpNorm, gateUpBias, downBias;
  LinearWeight qkv, output, gateUp, down;

  static LayerWeights of(const Weights& weights, size_t layer);
};

}  // namespace octavo
