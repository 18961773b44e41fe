// Multi-head latent attention (DeepSeek-V2, arXiv:2405.04434): what its ops see of a step.
//
// A token keeps one row: its latent, from which keys and values of every head can be made, and one rotated key that
// all heads share. Absorbed, a query head is brought to the width of that row, and the row is its key and, but for the
// rotated part, its value: all heads read the same bytes. Expanded, keys and values of every head are made first.
#pragma once

#include "ops/tensor.h"

namespace octavo {

/** The paged cache of latents: [block][layer][token][width], blocks end to end; a row is the latent, then the key. */
struct LatentCacheView {
  void* data = nullptr;
  DType dtype = DType::kF32;
  int64_t blocks = 0;
  int32_t layers = 0;
  int32_t blockSize = 0;  // tokens a block: 16, 32 or 64
  int32_t width = 0;      // elements of a row, at most kMaxLatentWidth

  bool operator==(const LatentCacheView&) const = default;
};

constexpr int32_t kMaxLatentWidth = 1024;

/**
 * Keys and values of every head, one row a token. The key of head h is the first part of its row in `keyValue`, then
 * the token's row of `ropeKey`; its value is the rest of its row in `keyValue`.
 */
struct ExpandedKeys {
  Heads keyValue;                     // [keys, heads, query.dim − ropeKey.columns + out.dim]
  Matrix ropeKey;                     // [keys, rope dim]
  const int32_t* keyStart = nullptr;  // [sequences] the row of each sequence's first key, in device memory
};

}  // namespace octavo
