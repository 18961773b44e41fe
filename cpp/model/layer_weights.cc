#include "model/layer_weights.h"

namespace octavo {

LayerWeights LayerWeights::of(const Weights& weights, size_t layer) {
  const std::string prefix = "layers." + std::to_string(layer) + ".";
  LayerWeights found;
  found.attentionNorm = weights.vector(prefix + "attention.norm");
  found.qkv = weights.linear(prefix + "attention.qkv");
  found.qkvBias = weights.vector(prefix + "attention.qkvBias");
  found.queryNorm = weights.vector(prefix + "attention.queryNorm");
  found.keyNorm = weights.vector(prefix + "attention.keyNorm");
  found.output = weights.linear(prefix + "attention.output");
  found.outputBias = weights.vector(prefix + "attention.outputBias");
  found.mlpNorm = weights.vector(prefix + "mlp.norm");
  found.gateUp = weights.linear(prefix + "mlp.gateUp");
  found.gateUpBias = weights.vector(prefix + "mlp.gateUpBias");
  found.down = weights.linear(prefix + "mlp.down");
  found.downBias = weights.vector(prefix + "mlp.downBias");
  return found;
}

}  // namespace octavo
