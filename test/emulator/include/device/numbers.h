// Arithmetic of device code as the host has it (CUDA Math API, "Single Precision Intrinsics", "Integer Intrinsics",
// "Type Casting Intrinsics"). Where the card approximates, this is exact to the last bit or two: tests allow for both.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

using std::isfinite, std::isinf, std::isnan;

#define OCTAVO_EMULATED_ORDER(type)                                  \
  inline type min(type a, type b) { return b < a ? b : a; }          \
  inline type max(type a, type b) { return a < b ? b : a; }
OCTAVO_EMULATED_ORDER(int)
OCTAVO_EMULATED_ORDER(unsigned)
OCTAVO_EMULATED_ORDER(long)
OCTAVO_EMULATED_ORDER(unsigned long)
OCTAVO_EMULATED_ORDER(long long)
OCTAVO_EMULATED_ORDER(unsigned long long)
#undef OCTAVO_EMULATED_ORDER
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline double min(double a, double b) { return fmin(a, b); }
inline double max(double a, double b) { return fmax(a, b); }
inline unsigned min(int a, unsigned b) { return min(static_cast<unsigned>(a), b); }
inline unsigned min(unsigned a, int b) { return min(a, static_cast<unsigned>(b)); }
inline unsigned max(int a, unsigned b) { return max(static_cast<unsigned>(a), b); }
inline unsigned max(unsigned a, int b) { return max(a, static_cast<unsigned>(b)); }

inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fdividef(float a, float b) { return a / b; }
inline float __frcp_rn(float a) { return 1.0f / a; }
inline float __fsqrt_rn(float a) { return sqrtf(a); }
inline float __expf(float a) { return expf(a); }
inline float __logf(float a) { return logf(a); }
inline float rsqrtf(float a) { return static_cast<float>(1.0 / sqrt(static_cast<double>(a))); }

inline float __uint_as_float(uint32_t bits) { return std::bit_cast<float>(bits); }
inline float __int_as_float(int32_t bits) { return std::bit_cast<float>(bits); }
inline uint32_t __float_as_uint(float value) { return std::bit_cast<uint32_t>(value); }
inline int32_t __float_as_int(float value) { return std::bit_cast<int32_t>(value); }

namespace octavo::emulator {

/** A number to an integer type as cvt does it: what does not fit becomes the nearest that does, NaN 0. */
template <class Integer>
Integer saturate(float rounded) {
  using Limits = std::numeric_limits<Integer>;
  if (std::isnan(rounded)) return 0;
  if (rounded >= static_cast<float>(Limits::max())) return Limits::max();
  if (rounded <= static_cast<float>(Limits::min())) return Limits::min();
  return static_cast<Integer>(rounded);
}

}  // namespace octavo::emulator

inline int __float2int_rn(float a) { return octavo::emulator::saturate<int>(rintf(a)); }
inline int __float2int_rd(float a) { return octavo::emulator::saturate<int>(floorf(a)); }
inline int __float2int_rz(float a) { return octavo::emulator::saturate<int>(truncf(a)); }
inline unsigned __float2uint_rn(float a) { return octavo::emulator::saturate<unsigned>(rintf(a)); }
inline unsigned long long __float2ull_rn(float a) { return octavo::emulator::saturate<unsigned long long>(rintf(a)); }
inline float __int2float_rn(int a) { return static_cast<float>(a); }

inline int __clz(int a) { return std::countl_zero(static_cast<uint32_t>(a)); }
inline int __clzll(long long a) { return std::countl_zero(static_cast<uint64_t>(a)); }
inline int __ffs(int a) { return a ? std::countr_zero(static_cast<uint32_t>(a)) + 1 : 0; }
inline int __popc(uint32_t a) { return std::popcount(a); }
inline uint32_t __umulhi(uint32_t a, uint32_t b) { return static_cast<uint32_t>(uint64_t{a} * b >> 32); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<unsigned long long>(static_cast<Wide>(a) * b >> 64);
}
inline uint32_t __funnelshift_r(uint32_t low, uint32_t high, uint32_t by) {
  return static_cast<uint32_t>((uint64_t{high} << 32 | low) >> (by & 31));
}
inline int __vimax3_s32(int a, int b, int c) { return max(max(a, b), c); }

/** Byte i of the result is that of x (0 to 3) and y (4 to 7) which nibble i of the selector names (prmt). */
inline uint32_t __byte_perm(uint32_t x, uint32_t y, uint32_t selector) {
  const uint64_t bytes = uint64_t{y} << 32 | x;
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    const uint32_t nibble = selector >> 4 * i & 0xf;
    uint32_t byte = static_cast<uint32_t>(bytes >> 8 * (nibble & 7)) & 0xff;
    if (nibble & 8) byte = byte & 0x80 ? 0xff : 0;  // its sign
    result |= byte << 8 * i;
  }
  return result;
}
