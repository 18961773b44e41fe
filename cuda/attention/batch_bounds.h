// What the host can tell of a ragged batch whose lengths lie in device memory.
#pragma once

#include "ops/tensor.h"

namespace octavo::cuda {

/** Whether a sequence may have at most `tokens` query tokens. */
inline bool mayHave(const AttentionBatch& batch, int32_t tokens) {
  const int64_t others = (batch.sequences - 1) * int64_t{batch.maxQueryLength};
  return batch.tokens - others <= tokens;  // the fewest that the last one can have
}

}  // namespace octavo::cuda
