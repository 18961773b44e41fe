#include "ops/cpu/cache_rows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/e4m3.h"

namespace octavo::cpu {

namespace {

constexpr int64_t kMostDim = 256;  // of a cache: see KvCache and the binding
constexpr float kLargestI8 = 127;

const std::array<float, 256>& e4m3Numbers() {
  static const std::array<float, 256> numbers = [] {
    std::array<float, 256> made{};
    for (int code = 0; code < 256; ++code) made[code] = e4m3ToFloat(static_cast<uint8_t>(code));
    return made;
  }();
  return numbers;
}

void* rowOf(const KvCacheView& cache, const CachePlace& place) {
  void* const rows = cache.rows(place.block, place.layer, place.side, place.head);
  return element(rows, cache.dtype, place.token * cache.headDim);
}

/** max |x| / 127; NaN where an element is. */
float scaleOfRow(const float* row, int64_t count) {
  float largest = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (row[i] != row[i]) return std::numeric_limits<float>::quiet_NaN();
    largest = std::max(largest, std::fabs(row[i]));
  }
  return largest / kLargestI8;
}

/** Nearest, ties to even; 0 where the scale is 0 or NaN has no number. */
int8_t codeOf(float value, float scale) {
  const float code = std::min(std::max(value / scale, -kLargestI8), kLargestI8);
  return scale > 0 && code == code ? static_cast<int8_t>(std::nearbyint(code)) : int8_t{0};
}

float headScale(const KvCacheView& cache, const CachePlace& place, const KvScales& scales) {
  const bool isKey = place.side == 0;
  if (cache.scaling == KvScaling::kTensor) return isKey ? scales.key : scales.value;
  const float* const heads = isKey ? scales.keyHeads : scales.valueHeads;
  return heads ? heads[place.head] : 1.0f;
}

}  // namespace

void loadCached(float* to, const KvCacheView& cache, const CachePlace& place, float tensorScale) {
  const void* const row = rowOf(cache, place);
  const int64_t count = cache.headDim;
  if (!isCode(cache.dtype)) return rowKernels().load(to, row, cache.dtype, count);
  const float scale = cache.scaling == KvScaling::kTensor
                          ? tensorScale
                          : *cache.scale(place.block, place.layer, place.side, place.head, place.token);
  if (cache.dtype == DType::kI8) {
    const auto* const codes = static_cast<const int8_t*>(row);
    for (int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(codes[i]) * scale;
    return;
  }
  const auto* const codes = static_cast<const uint8_t*>(row);
  const std::array<float, 256>& numbers = e4m3Numbers();
  for (int64_t i = 0; i < count; ++i) to[i] = numbers[codes[i]] * scale;
}

void storeCached(const KvCacheView& cache, const CachePlace& place, const void* from, DType type,
                 const KvScales& scales) {
  void* const to = rowOf(cache, place);
  const int64_t count = cache.headDim;
  if (!isCode(cache.dtype)) return convertElements(to, cache.dtype, from, type, count);
  float row[kMostDim];
  rowKernels().load(row, from, type, count);
  const bool isInt8 = cache.dtype == DType::kI8;
  const float scale = isInt8 ? scaleOfRow(row, count) : headScale(cache, place, scales);
  if (cache.scaling != KvScaling::kTensor) {
    *cache.scale(place.block, place.layer, place.side, place.head, place.token) = scale;
  }
  for (int64_t i = 0; i < count; ++i) {
    if (isInt8) static_cast<int8_t*>(to)[i] = codeOf(row[i], scale);
    else static_cast<uint8_t*>(to)[i] = floatToE4m3(row[i] / scale);
  }
}

}  // namespace octavo::cpu
