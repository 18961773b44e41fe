#include "engine/kv_identity.h"

namespace octavo {

namespace {

class Text {
 public:
  template <typename T>
  void add(T value) {
    text_ += std::to_string(value) + " ";
  }
  /** With its length ahead, so that two texts never read as two others. */
  void add(const std::string& text) { text_ += std::to_string(text.size()) + ":" + text; }
  void add(const void* data, size_t bytes) { add(std::string(static_cast<const char*>(data), bytes)); }
  std::string text_;
};

void addLayer(Text& text, const LayerSpec& layer) {
  const AttentionSpec& attention = layer.attention;
  for (const int32_t value : {attention.heads, attention.kvHeads, attention.headDim, attention.window,
                              attention.rope, layer.mlp.intermediateSize}) {
    text.add(value);
  }
  text.add(&attention.scale, sizeof attention.scale);
}

void addRope(Text& text, const RopeSpec& rope) {
  text.add(rope.inverseFrequencies.data(), rope.inverseFrequencies.size() * sizeof(float));
  text.add(&rope.magnitude, sizeof rope.magnitude);
}

void addQuantisation(Text& text, const WeightManifest& manifest) {
  for (const WeightEntry& entry : manifest.entries) {
    for (const WeightPart& part : entry.parts) {
      if (!part.quantized) continue;
      text.add(entry.name + " " + storedLayoutName(part.quantized->layout) + " " +
               codeTypeName(part.quantized->codeType));
      text.add(static_cast<int>(part.quantized->activations.scaling));
    }
  }
}

}  // namespace

std::string kvIdentity(const ModelSpec& spec, const WeightManifest& manifest, const KvCacheShape& shape) {
  Text text;
  text.add(spec.family);
  for (const std::string& file : manifest.files) text.add(file);
  if (manifest.dummySeed) text.add(*manifest.dummySeed);
  for (const int32_t value : {spec.vocabularySize, spec.hiddenSize, shape.layers, shape.kvHeads, shape.blockSize,
                              shape.headDim, static_cast<int32_t>(shape.dtype),
                              static_cast<int32_t>(scalingOf(shape.dtype))}) {
    text.add(value);
  }
  text.add(&spec.normEpsilon, sizeof spec.normEpsilon);
  for (const LayerSpec& layer : spec.layers) addLayer(text, layer);
  for (const RopeSpec& rope : spec.ropes) addRope(text, rope);
  addQuantisation(text, manifest);
  return text.text_;
}

}  // namespace octavo
