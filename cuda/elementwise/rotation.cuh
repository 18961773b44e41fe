// The arithmetic of head norms and rotations, step by step: whoever does them makes the same bits.
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

/** Cosine and sine of a pair, times `magnitude`; accurate ones: an angle may be 131072 radians and more. */
__device__ __forceinline__ float2 rotationOf(int32_t position, float inverseFrequency, float magnitude) {
  float sine, cosine;
  sincosf(__fmul_rn(static_cast<float>(position), inverseFrequency), &sine, &cosine);
  return make_float2(__fmul_rn(cosine, magnitude), __fmul_rn(sine, magnitude));
}

__device__ __forceinline__ void rotatePair(float& first, float& second, float2 rotation) {
  const float turned = __fmaf_rn(first, rotation.x, -__fmul_rn(second, rotation.y));
  second = __fmaf_rn(second, rotation.x, __fmul_rn(first, rotation.y));
  first = turned;
}

}  // namespace octavo::cuda
