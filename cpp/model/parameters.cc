// The canonical parameters of a spec: their names, shapes and order.
#include <utility>

#include "model/model_spec.h"

namespace octavo {

namespace {

void appendLayer(std::vector<ParameterSpec>& all, const std::string& prefix, const LayerSpec& layer, int64_t hidden) {
  const AttentionSpec& attention = layer.attention;
  const int64_t headDim = attention.headDim;
  const int64_t qkvRows = (int64_t{attention.heads} + 2 * int64_t{attention.kvHeads}) * headDim;
  const int64_t intermediate = layer.mlp.intermediateSize;
  const auto append = [&](const char* name, std::vector<int64_t> shape) {
    all.push_back({prefix + name, std::move(shape)});
  };
  append("attention.norm", {hidden});
  append("attention.qkv", {qkvRows, hidden});
  if (attention.qkvBias) append("attention.qkvBias", {qkvRows});
  if (attention.queryKeyNorm) append("attention.queryNorm", {headDim});
  if (attention.queryKeyNorm) append("attention.keyNorm", {headDim});
  append("attention.output", {hidden, attention.heads * headDim});
  if (attention.outputBias) append("attention.outputBias", {hidden});
  append("mlp.norm", {hidden});
  append("mlp.gateUp", {2 * intermediate, hidden});
  if (layer.mlp.bias) append("mlp.gateUpBias", {2 * intermediate});
  append("mlp.down", {hidden, intermediate});
  if (layer.mlp.bias) append("mlp.downBias", {hidden});
}

}  // namespace

std::vector<ParameterSpec> parametersOf(const ModelSpec& spec) {
  const int64_t vocabulary = spec.vocabularySize;
  const int64_t hidden = spec.hiddenSize;
  std::vector<ParameterSpec> all;
  all.push_back({"embedding", {vocabulary, hidden}});
  for (size_t index = 0; index < spec.layers.size(); ++index) {
    appendLayer(all, "layers." + std::to_string(index) + ".", spec.layers[index], hidden);
  }
  all.push_back({"finalNorm", {hidden}});
  if (!spec.tiedEmbeddings) all.push_back({"head", {vocabulary, hidden}});
  return all;
}

}  // namespace octavo
