// The cases of multi-head latent attention: absorbed decodes over cached latents, and prompts over expanded keys.
#pragma once

#include "cuda/attention/mla.h"
#include "scripts/bench/native/attention_case.h"

namespace octavo::bench {

struct LatentCase {
  std::string name;
  AttentionFigure figure = AttentionFigure::kBandwidth;
  int32_t heads = 0;
  bool isPrompt = false;         // expanded, every token of the context a query; else one query each
  std::vector<int32_t> context;  // tokens of each sequence
  cuda::LatentForms forms;

  static constexpr int32_t kRank = 512, kRopeDim = 64, kBlockSize = 64;
  static constexpr int32_t kWidth = kRank + kRopeDim;      // of a cached row
  static constexpr int32_t kKeyDim = 128, kValueDim = 128;  // of a head, expanded; its key has the rotated part besides

  int32_t sequences() const { return static_cast<int32_t>(context.size()); }
  int32_t tokens() const;
  /** Of a query and of an output, of one head. */
  int32_t queryDim() const { return isPrompt ? kKeyDim + kRopeDim : kWidth; }
  int32_t outDim() const { return isPrompt ? kValueDim : kRank; }
  /** bf16 keys and values, or latents of one layer, read once. */
  double cacheBytes() const;
  double flops() const;
};

/** In the order of the table they are printed in. */
std::vector<LatentCase> latentCases();

/** The same decode by kernels of the forms that are not the default. */
LatentCase otherFormOf(const LatentCase& of);

}  // namespace octavo::bench
