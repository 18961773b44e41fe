// The cases of the attention benchmark: shapes of a model and a batch, and the figure that tells of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ops/kv_cache_view.h"

namespace octavo::bench {

/** What is reported, and beside which limit. */
enum class AttentionFigure {
  kBandwidth,    // TB/s, the KV of the batch read once; a plain read of those bytes
  kReadTime,     // µs; a plain read of those bytes
  kRate,         // TFLOP/s, masked products not counted; the tensor cores
  kProductTime,  // µs; the tensor cores
  kAgainstEven,  // time over that of as many sequences with as many keys dealt evenly
};

struct AttentionCase {
  std::string name;
  AttentionFigure figure = AttentionFigure::kBandwidth;
  int32_t heads = 0, kvHeads = 0, headDim = 0, blockSize = 0;
  std::vector<int32_t> query, context;  // tokens of each sequence; the queries are the last of its context
  bool forcesAmpere = false;            // run the kernels made for A100-class cards
  DType cacheType = DType::kBF16;       // or codes, of queries that are bf16 all the same

  int32_t sequences() const { return static_cast<int32_t>(context.size()); }
  int32_t tokens() const;
  /** Keys and values of one layer, and their scales where these are a token's, read once. */
  double cacheBytes() const;
  double flops() const;
};

/** In the order of the table they are printed in. */
std::vector<AttentionCase> attentionCases();

/** The sequences of `skewed` with the same number of keys each. */
AttentionCase evenCase(const AttentionCase& skewed);

}  // namespace octavo::bench
