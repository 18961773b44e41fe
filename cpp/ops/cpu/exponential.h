// e^x without a branch or a call, so that loops over rows vectorise.
#pragma once

#include <cstdint>

#include "ops/cpu/lanes.h"

namespace octavo::cpu {
namespace {

/**
 * e^x = 2^n · e^r, n = round(x / ln 2), |r| ≤ ln 2 / 2, e^r by its series to r⁷ (next term 5·10⁻⁹).
 * Within 2 ulp; below −87.33 (results under the smallest normal) 0; above 88.37 it stays at e^88.37; NaN in, NaN out.
 */
OCTAVO_INLINE float exponential(float x) {
  constexpr float kRound = 12582912.0f;  // 1.5 · 2²³: adding it leaves the nearest integer in the low bits
  constexpr float kLn2High = 0.693145751953125f, kLn2Low = 1.42860677e-6f;
  const float limited = x > 88.37f ? 88.37f : (x < -87.33f ? -87.33f : x);
  const float rounded = limited * 1.44269504f + kRound;
  const float n = rounded - kRound;
  const int32_t power = __builtin_bit_cast(int32_t, rounded) - 0x4b400000;
  const float r = (limited - n * kLn2High) - n * kLn2Low;
  float series = 1.0f / 5040;
  series = series * r + 1.0f / 720;
  series = series * r + 1.0f / 120;
  series = series * r + 1.0f / 24;
  series = series * r + 1.0f / 6;
  series = series * r + 0.5f;
  series = series * r + 1.0f;
  series = series * r + 1.0f;
  const float scale = __builtin_bit_cast(float, static_cast<uint32_t>(power + 127) << 23);
  return x < -87.33f ? 0.0f : series * scale;
}

}  // namespace
}  // namespace octavo::cpu
