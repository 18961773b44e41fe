#include "tensor/numbers.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

namespace octavo::emulator {

namespace {

float fromBF16(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
float fromF16(uint16_t bits) { return __half2float(__ushort_as_half(bits)); }

const float* tableOfF16() {
  static const std::vector<float> table = [] {
    std::vector<float> all(1 << 16);
    for (uint32_t bits = 0; bits < all.size(); ++bits) all[bits] = fromF16(static_cast<uint16_t>(bits));
    return all;
  }();
  return table.data();
}

const float* tableOfE4M3() {
  static const std::vector<float> table = [] {
    std::vector<float> all(1 << 8);
    for (uint32_t bits = 0; bits < all.size(); ++bits) {
      all[bits] = fromF16(__nv_cvt_fp8_to_halfraw(static_cast<__nv_fp8_storage_t>(bits), __NV_E4M3).x);
    }
    return all;
  }();
  return table.data();
}

// To nearest of a double is to nearest of the exact sum too, but where the double fell on the middle of two numbers of
// the narrow format: rounded to odd it does not.
double sumToOdd(double product, double c) {
  const double sum = product + c;
  if (!std::isfinite(sum)) return sum;
  const double back = sum - product, lost = (product - (sum - back)) + (c - back);  // Knuth's two-sum
  if (lost == 0 || std::bit_cast<uint64_t>(sum) & 1) return sum;
  return std::nextafter(sum, lost > 0 ? INFINITY : -INFINITY);
}

}  // namespace

void toFloats(Format format, const void* from, float* to, int count, int step) {
  const auto* bytes = static_cast<const uint8_t*>(from);
  const auto half = [&](int i) {
    uint16_t bits;
    std::memcpy(&bits, bytes + i * 2, 2);
    return bits;
  };
  if (format == Format::kBF16) {
    for (int i = 0; i < count; ++i) to[i * step] = fromBF16(half(i));
  } else if (format == Format::kF16) {
    const float* const table = tableOfF16();
    for (int i = 0; i < count; ++i) to[i * step] = table[half(i)];
  } else if (format == Format::kE4M3) {
    const float* const table = tableOfE4M3();
    for (int i = 0; i < count; ++i) to[i * step] = table[bytes[i]];
  } else {
    for (int i = 0; i < count; ++i) to[i * step] = static_cast<float>(static_cast<int8_t>(bytes[i]));
  }
}

uint16_t fuseBF16(uint16_t a, uint16_t b, uint16_t c) {
  const double product = static_cast<double>(fromBF16(a)) * static_cast<double>(fromBF16(b));
  return __bfloat16_as_ushort(__double2bfloat16(sumToOdd(product, static_cast<double>(fromBF16(c)))));
}

uint16_t fuseF16(uint16_t a, uint16_t b, uint16_t c) {
  const float* const table = tableOfF16();
  const double product = static_cast<double>(table[a]) * static_cast<double>(table[b]);
  return __half_as_ushort(__double2half(sumToOdd(product, static_cast<double>(table[c]))));
}

}  // namespace octavo::emulator
