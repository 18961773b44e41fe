// Measures the plans of a dense product on the card that will run it.
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/gemm/linear_table.h"

namespace octavo::cuda {

/** Ops::tuneLinear, but for the table: the caller keeps what is returned. Throws kDeviceFailed. */
LinearTuning tuneLinear(const LinearTrial& trial, const DeviceTraits& traits, cudaStream_t stream);

}  // namespace octavo::cuda
