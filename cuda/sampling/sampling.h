// Picks tokens from logits. The definition is in ops/sampling.h.
#pragma once

#include <cuda_runtime_api.h>

#include "ops/sampling.h"

namespace octavo::cuda {

void launchSample(const SampleArguments& arguments, cudaStream_t stream);

}  // namespace octavo::cuda
