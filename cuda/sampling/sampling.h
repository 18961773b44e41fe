// Picks tokens from logits. The definition is in ops/sampling.h.
#pragma once

#include <cuda_runtime_api.h>

#include "ops/sampling.h"

namespace octavo::cuda {

void launchSample(const SampleArguments& arguments, cudaStream_t stream);

void launchResolveTokens(int32_t* tokens, int64_t count, const int32_t* sampled, cudaStream_t stream);
void launchResolveHistory(TokenCount* history, const SamplingParams* params, int32_t rows, const int32_t* sampled,
                          cudaStream_t stream);

}  // namespace octavo::cuda
