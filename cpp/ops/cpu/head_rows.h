// What happens to a query or a key between its product and the cache.
#pragma once

#include <cmath>

#include "ops/cpu/access.h"

namespace octavo::cpu {

/** row = row / sqrt(mean(row²) + epsilon) · weight. */
inline void normalizeRow(float* row, const float* weight, int64_t count, float epsilon) {
  const float mean = rowKernels().sumOfSquares(row, count) / static_cast<float>(count);
  rowKernels().scaleByWeight(row, 1.0f / std::sqrt(mean + epsilon), weight, count);
}

/** `half` cosines and as many sines, for the pairs of a token at `position`. */
inline void setRotation(float* cosines, float* sines, int32_t position, const float* inverseFrequencies,
                        float magnitude, int64_t half) {
  for (int64_t i = 0; i < half; ++i) {
    const float angle = static_cast<float>(position) * inverseFrequencies[i];
    cosines[i] = std::cos(angle) * magnitude;
    sines[i] = std::sin(angle) * magnitude;
  }
}

}  // namespace octavo::cpu
