// Branch-free fp16 and bf16 conversions: every path is a select, so that loops over rows vectorise.
#pragma once

#include <cstdint>

namespace octavo {

/** IEEE binary16 to fp32, exact; subnormals, infinities and NaN kept. */
inline float halfToFloat(uint16_t half) {
  const uint32_t magnitude = (half & 0x7fffu) << 13;  // exponent and fraction, biased by 15
  const uint32_t exponent = magnitude & 0x0f800000u;
  const float normal = __builtin_bit_cast(
      float, magnitude + ((127 - 15) << 23) + (exponent == 0x0f800000u ? (128u - 16u) << 23 : 0u));
  // A subnormal is fraction · 2⁻²⁴: put the fraction under 0.5's exponent step of 2⁻²⁴ and take 0.5 away.
  const float subnormal = __builtin_bit_cast(float, (half & 0x3ffu) | 0x3f000000u) - 0.5f;
  const float value = exponent == 0 ? subnormal : normal;
  return __builtin_bit_cast(float, __builtin_bit_cast(uint32_t, value) | (half & 0x8000u) << 16);
}

/** fp32 to IEEE binary16, round to nearest even, overflow to infinity; NaN becomes a quiet NaN. */
inline uint16_t floatToHalf(float value) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, value);
  const uint32_t magnitude = bits & 0x7fffffffu;
  // Adding 0.5 rounds to a multiple of 2⁻²⁴, the step of fp16 subnormals.
  const float shifted = __builtin_bit_cast(float, magnitude < 0x38800000u ? magnitude : 0u) + 0.5f;
  const uint32_t subnormal = __builtin_bit_cast(uint32_t, shifted) - 0x3f000000u;
  const uint32_t normal = (magnitude - ((127 - 15) << 23) + 0xfffu + (magnitude >> 13 & 1u)) >> 13;
  uint32_t half = magnitude < 0x38800000u ? subnormal : normal;
  half = magnitude >= 0x477ff000u ? 0x7c00u : half;  // 65520 and above round to infinity
  half = magnitude > 0x7f800000u ? 0x7e00u | (magnitude >> 13 & 0x3ffu) : half;
  return static_cast<uint16_t>(half | (bits >> 16 & 0x8000u));
}

/** fp32 to bf16, round to nearest even; NaN stays NaN. The same as floatToBf16 without a branch. */
inline uint16_t floatToBrain(float value) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, value);
  const uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
  const uint32_t quiet = bits >> 16 | 0x40u;
  return static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
}

inline float brainToFloat(uint16_t bits) {
  return __builtin_bit_cast(float, static_cast<uint32_t>(bits) << 16);
}

}  // namespace octavo
