// What latent attention must have written, in fp64 and by the plainest way.
#pragma once

#include "scripts/bench/native/latent_batch.h"

namespace octavo::bench {

/**
 * The largest ‖out − reference‖ / ‖reference‖ of 64 rows (a query token and head) spread over the batch; NaN where one
 * was not written. `batch.out()` must hold the result for `layer`.
 */
double latentError(const LatentCase& of, const LatentBatch& batch, int32_t layer, cudaStream_t stream);

}  // namespace octavo::bench
