// A model as data: what the decoder needs to know, nothing of any file format.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/dtype.h"

namespace octavo {

/** A rotary embedding, already computed by the family: see lib/families/rope.ts. */
struct RopeSpec {
  std::vector<float> inverseFrequencies;  // [headDim / 2]
  float magnitude = 1;                    // multiplies cos and sin (YaRN)
};

struct AttentionSpec {
  int32_t heads = 0, kvHeads = 0, headDim = 0;
  float scale = 0;          // of q·k before softmax
  int32_t window = 0;       // 0: full attention
  int32_t rope = 0;         // index in ModelSpec::ropes
  bool qkvBias = false, outputBias = false;
  bool queryKeyNorm = false;
};

struct MlpSpec {
  int32_t intermediateSize = 0;
  bool bias = false;
};

struct LayerSpec {
  AttentionSpec attention;
  MlpSpec mlp;
};

struct ModelSpec {
  std::string family;               // "llama", for messages
  int32_t vocabularySize = 0;       // rows of the embedding
  int32_t sampledVocabulary = 0;    // ids the tokenizer knows; larger ids are never sampled
  int32_t hiddenSize = 0;
  int32_t contextLength = 0;
  float normEpsilon = 0;
  bool tiedEmbeddings = false;
  std::vector<RopeSpec> ropes;
  std::vector<LayerSpec> layers;

  /** Throws kInvalidArgument / kUnsupportedModel naming the first value the decoder cannot run. */
  void validate() const;
};

/** A parameter the decoder asks for, by canonical name. */
struct ParameterSpec {
  std::string name;               // see model_spec.cc: "layers.3.attention.qkv"
  std::vector<int64_t> shape;     // [N, K] or [N]
};

/**
 * All parameters of a spec, in load order:
 * embedding [V, h]; per layer N: layers.N.attention.norm [h], .attention.qkv [(H + 2·KV)·d, h],
 * .attention.qkvBias, .attention.queryNorm [d], .attention.keyNorm [d], .attention.output [h, H·d],
 * .attention.outputBias [h], .mlp.norm [h], .mlp.gateUp [2·I, h], .mlp.gateUpBias, .mlp.down [h, I],
 * .mlp.downBias [h]; finalNorm [h]; head [V, h] unless tied.
 */
std::vector<ParameterSpec> parametersOf(const ModelSpec& spec);

}  // namespace octavo
