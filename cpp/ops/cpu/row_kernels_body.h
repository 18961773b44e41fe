// The text of one set of row kernels. Included by row_kernels_*.cc only, each under its own target; everything
// here is in an unnamed namespace, so that no two sets can be mixed up by the linker.
#pragma once

#include <cmath>
#include <limits>

#include "base/half.h"
#include "ops/cpu/dot_kernels.h"
#include "ops/cpu/exponential.h"
#include "ops/cpu/lanes.h"
#include "ops/cpu/row_kernels.h"

namespace octavo::cpu {
namespace {

void load(float* to, const void* from, DType dtype, int64_t count) {
  if (dtype == DType::kF32) {
    std::memcpy(to, from, count * sizeof(float));
  } else if (dtype == DType::kBF16) {
    const uint16_t* bits = static_cast<const uint16_t*>(from);
    for (int64_t i = 0; i < count; ++i) to[i] = brainToFloat(bits[i]);
  } else {
    const uint16_t* bits = static_cast<const uint16_t*>(from);
    for (int64_t i = 0; i < count; ++i) to[i] = halfToFloat(bits[i]);
  }
}

void store(void* to, DType dtype, const float* from, int64_t count) {
  if (dtype == DType::kF32) {
    std::memmove(to, from, count * sizeof(float));
  } else if (dtype == DType::kBF16) {
    uint16_t* bits = static_cast<uint16_t*>(to);
    for (int64_t i = 0; i < count; ++i) bits[i] = floatToBrain(from[i]);
  } else {
    uint16_t* bits = static_cast<uint16_t*>(to);
    for (int64_t i = 0; i < count; ++i) bits[i] = floatToHalf(from[i]);
  }
}

float sumOfSquares(const float* x, int64_t count) {
  Lanes sum = {};
  const int64_t whole = count / kLanes * kLanes;
  for (int64_t i = 0; i < whole; i += kLanes) {
    Lanes value;
    loadLanes(value, x + i);
    sum += value * value;
  }
  float total = sumLanes(sum);
  for (int64_t i = whole; i < count; ++i) total += x[i] * x[i];
  return total;
}

float maximum(const float* x, int64_t count) {
  constexpr float kLowest = -std::numeric_limits<float>::infinity();
  float best[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) best[lane] = kLowest;
  const int64_t whole = count / kLanes * kLanes;
  for (int64_t i = 0; i < whole; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) best[lane] = x[i + lane] > best[lane] ? x[i + lane] : best[lane];
  }
  float largest = kLowest;
  for (int lane = 0; lane < kLanes; ++lane) largest = best[lane] > largest ? best[lane] : largest;
  for (int64_t i = whole; i < count; ++i) largest = x[i] > largest ? x[i] : largest;
  return largest;
}

float sumOf(const float* x, int64_t count) {
  Lanes sum = {};
  const int64_t whole = count / kLanes * kLanes;
  for (int64_t i = 0; i < whole; i += kLanes) {
    Lanes value;
    loadLanes(value, x + i);
    sum += value;
  }
  float total = sumLanes(sum);
  for (int64_t i = whole; i < count; ++i) total += x[i];
  return total;
}

/** In stretches: one fp32 sum of 150,000 terms that are alike errs by 10⁻⁴, this by less than the result is rounded. */
float exponentials(float* x, float shift, int64_t count) {
  constexpr int64_t kStretch = 128;
  for (int64_t i = 0; i < count; ++i) x[i] = exponential(x[i] - shift);
  double total = 0;
  for (int64_t i = 0; i < count; i += kStretch) total += sumOf(x + i, count - i < kStretch ? count - i : kStretch);
  return static_cast<float>(total);
}

void add(float* y, const float* x, int64_t count) {
  for (int64_t i = 0; i < count; ++i) y[i] += x[i];
}

void scale(float* x, float factor, int64_t count) {
  for (int64_t i = 0; i < count; ++i) x[i] *= factor;
}

void scaleByWeight(float* x, float factor, const float* weight, int64_t count) {
  for (int64_t i = 0; i < count; ++i) x[i] = x[i] * factor * weight[i];
}

void swiglu(float* gate, const float* up, int64_t count) {
  for (int64_t i = 0; i < count; ++i) gate[i] = gate[i] / (1.0f + exponential(-gate[i])) * up[i];
}

void rotate(float* a, float* b, const float* cosines, const float* sines, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const float first = a[i], second = b[i];
    a[i] = first * cosines[i] - second * sines[i];
    b[i] = second * cosines[i] + first * sines[i];
  }
}

/** Four vectors of `sum` at a time stay in registers while the rows go by. */
template <int kVectors>
OCTAVO_INLINE void weightedSumChunk(float* sum, float correction, const float* weights, const float* rows,
                                    int64_t stride, int64_t count) {
  Lanes total[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    loadLanes(total[v], sum + v * kLanes);
    total[v] = total[v] * correction;
  }
  for (int64_t j = 0; j < count; ++j) {
    for (int v = 0; v < kVectors; ++v) {
      Lanes value;
      loadLanes(value, rows + j * stride + v * kLanes);
      total[v] += value * weights[j];
    }
  }
  for (int v = 0; v < kVectors; ++v) storeLanes(sum + v * kLanes, total[v]);
}

void weightedSum(float* sum, float correction, const float* weights, const float* rows, int64_t stride,
                 int64_t count, int64_t width) {
  int64_t d = 0;
  for (; d + 4 * kLanes <= width; d += 4 * kLanes) {
    weightedSumChunk<4>(sum + d, correction, weights, rows + d, stride, count);
  }
  for (; d < width; d += kLanes) weightedSumChunk<1>(sum + d, correction, weights, rows + d, stride, count);
}

constexpr RowKernels makeRowKernels(const char* name) {
  return {name, load, store, dots, tile, sumOfSquares, maximum, exponentials,
          add, scale, scaleByWeight, swiglu, rotate, weightedSum};
}

}  // namespace
}  // namespace octavo::cpu
