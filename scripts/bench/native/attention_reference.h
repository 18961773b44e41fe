// What attention must have written, in fp64 and by the plainest way: all scores, their softmax, the weighted sum.
#pragma once

#include "scripts/bench/native/paged_batch.h"

namespace octavo::bench {

/**
 * The largest ‖out − reference‖ / ‖reference‖ of 64 rows (a query token and head) spread over the batch; NaN where one
 * was not written. `batch.out()` must hold the result of `batch.attention(layer)`.
 */
double attentionError(const AttentionCase& of, const PagedBatch& batch, int32_t layer, cudaStream_t stream);

/** bf16 weights and outputs in a row of headDim values err by about 2e-3. */
constexpr double kAttentionTolerance = 1e-2;

}  // namespace octavo::bench
