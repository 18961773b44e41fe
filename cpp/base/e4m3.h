// The 8-bit float e4m3fn: bias 7, no infinity, 0x7f and 0xff are NaN, largest 448, subnormals in steps of 2⁻⁹.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace octavo {

constexpr float kLargestE4m3 = 448;

/** Exact. */
inline float e4m3ToFloat(uint8_t code) {
  const uint32_t magnitude = code & 0x7fu;
  const float sign = code & 0x80u ? -1.0f : 1.0f;
  if (magnitude == 0x7fu) return std::numeric_limits<float>::quiet_NaN();
  if (magnitude < 8u) return sign * static_cast<float>(magnitude) * 0x1p-9f;
  return sign * std::bit_cast<float>((magnitude << 20) + ((127u - 7u) << 23));
}

/** Nearest, ties to even; what passes ±448 becomes ±448, NaN stays NaN. */
inline uint8_t floatToE4m3(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint8_t>(bits >> 24 & 0x80u);
  const float magnitude = std::fabs(value);
  if (magnitude != magnitude) return sign | 0x7fu;
  if (magnitude >= kLargestE4m3) return sign | 0x7eu;
  // 2¹⁴ has a step of 2⁻⁹ in fp32: adding it rounds to a subnormal, or to the smallest normal number.
  if (magnitude < 0x1p-6f) return sign | static_cast<uint8_t>(std::bit_cast<uint32_t>(magnitude + 0x1p14f) & 0xfu);
  const uint32_t rounded = (bits & 0x7fffffffu) + 0x7ffffu + (bits >> 20 & 1u);
  return sign | static_cast<uint8_t>((rounded - ((127u - 7u) << 23)) >> 20);
}

}  // namespace octavo
