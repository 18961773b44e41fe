// Element types and their conversions to and from fp32.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace octavo {

/** Element type of a tensor in memory. The last two are codes that a scale goes with, in KV caches alone. */
enum class DType : uint8_t { kF32, kBF16, kF16, kI32, kI64, kU8, kE4M3, kI8 };

/** Bytes of one element. */
constexpr size_t dtypeBytes(DType dtype) {
  switch (dtype) {
    case DType::kF32: case DType::kI32: return 4;
    case DType::kBF16: case DType::kF16: return 2;
    case DType::kI64: return 8;
    case DType::kU8: case DType::kE4M3: case DType::kI8: return 1;
  }
  return 0;
}

constexpr bool isFloat(DType dtype) { return dtype <= DType::kF16; }

/** `fp32`, `bf16`, `fp16`, `i32`, `i64`, `u8`, `fp8_e4m3`, `int8`. */
const char* dtypeName(DType dtype);

/** The dtype of that name; throws kInvalidArgument for any other. */
DType parseDType(const char* name);

/** Upper half of an fp32, round to nearest even; NaN stays NaN. */
inline uint16_t floatToBf16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

inline float bf16ToFloat(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

/** IEEE binary16, round to nearest even, overflow to infinity, subnormals kept. */
uint16_t floatToF16(float value);
float f16ToFloat(uint16_t bits);

}  // namespace octavo
