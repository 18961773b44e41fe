// The arithmetic of RMSNorm, the same bits in every kernel that does it.
#pragma once

#include <cstdint>

namespace octavo::cuda {

/** x / sqrt(mean(x²) + epsilon): the factor of a row. */
__device__ __forceinline__ float inverseRms(float sumOfSquares, int64_t count, float epsilon) {
  return 1.0f / sqrtf(sumOfSquares / static_cast<float>(count) + epsilon);
}

__device__ __forceinline__ float normalized(float value, float factor, float weight) {
  return __fmul_rn(__fmul_rn(value, factor), weight);
}

}  // namespace octavo::cuda
