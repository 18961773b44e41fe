#include "scripts/bench/native/host/model.h"

namespace octavo::bench {

ModelSpec llama8B() {
  ModelSpec spec;
  spec.family = "llama";
  spec.vocabularySize = spec.sampledVocabulary = 128256;
  spec.hiddenSize = 4096;
  spec.contextLength = 131072;
  spec.normEpsilon = 1e-5f;
  spec.ropes.resize(1);
  spec.ropes[0].inverseFrequencies.assign(64, 1.0f);  // no kernel reads them
  LayerSpec layer;
  layer.attention.heads = 32;
  layer.attention.kvHeads = 8;
  layer.attention.headDim = 128;
  layer.attention.scale = 0.088388f;
  layer.mlp.intermediateSize = 14336;
  spec.layers.assign(32, layer);
  return spec;
}

WeightManifest dummyWeights(const ModelSpec& spec) {
  WeightManifest manifest;
  manifest.dummySeed = 1;
  for (const ParameterSpec& parameter : parametersOf(spec)) {
    WeightPart part;
    part.dtype = DType::kBF16;
    part.shape = parameter.shape;
    part.bytes = dtypeBytes(part.dtype);
    for (const int64_t size : parameter.shape) part.bytes *= static_cast<uint64_t>(size);
    manifest.entries.push_back({parameter.name, {part}});
  }
  return manifest;
}

}  // namespace octavo::bench
