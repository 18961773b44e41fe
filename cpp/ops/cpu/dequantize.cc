#include "ops/cpu/dequantize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/e4m3.h"
#include "ops/cpu/access.h"

namespace octavo::cpu {

namespace {

constexpr int64_t kPiece = 256;       // codes unpacked at a time
constexpr float kLeastGroup = 1e-4f;  // DeepSeek's floor under the largest magnitude of a group

/** A look-up is quicker than the arithmetic, which branches. */
const std::array<float, 256>& e4m3Numbers() {
  static const std::array<float, 256> numbers = [] {
    std::array<float, 256> all{};
    for (int code = 0; code < 256; ++code) all[code] = e4m3ToFloat(static_cast<uint8_t>(code));
    return all;
  }();
  return numbers;
}

float scaleAt(const QuantizedMatrix& weight, int64_t index) {
  float scale;
  rowKernels().load(&scale, element(weight.scales, weight.scaleType, index), weight.scaleType, 1);
  return scale;
}

/** to[i] = (code[i] − zero) · scale, a run of one group. */
void scaleRun(float* to, const uint8_t* codes, CodeType type, int zero, float scale, int64_t count) {
  if (type == CodeType::kE4M3) {
    const std::array<float, 256>& numbers = e4m3Numbers();
    for (int64_t i = 0; i < count; ++i) to[i] = numbers[codes[i]] * scale;
  } else if (type == CodeType::kI8) {
    for (int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(static_cast<int8_t>(codes[i]) - zero) * scale;
  } else {
    for (int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(codes[i] - zero) * scale;
  }
}

/** Where a run of one group that begins at column k ends. */
int64_t runEnd(const QuantizedMatrix& weight, int64_t k, int64_t end) {
  if (!weight.groupIndex) return std::min(end, (k / weight.groupColumns + 1) * int64_t{weight.groupColumns});
  int64_t next = k + 1;
  while (next < end && weight.groupIndex[next] == weight.groupIndex[k]) ++next;
  return next;
}

float codeOf(CodeType type, float value) {
  if (type == CodeType::kE4M3) return e4m3ToFloat(floatToE4m3(value));
  if (value != value) return value;
  return std::nearbyint(std::clamp(value, -127.0f, 127.0f));
}

float largestMagnitude(const float* x, int64_t count) {
  float largest = 0;
  for (int64_t i = 0; i < count; ++i) largest = std::max(largest, std::fabs(x[i]));
  return largest;
}

/** Code `index` of a stream. */
template <int kBits>
uint8_t codeAt(const uint8_t* stream, int64_t index) {
  const int64_t bit = index * kBits;
  unsigned word = stream[bit / 8];
  if (bit % 8 + kBits > 8) word |= static_cast<unsigned>(stream[bit / 8 + 1]) << 8;
  return static_cast<uint8_t>(word >> bit % 8 & ((1u << kBits) - 1));
}

/** Codes from `first` (below 8) on: by eights, which are kBits bytes, where they are whole. */
template <int kBits>
void unpack(uint8_t* to, const uint8_t* stream, int64_t first, int64_t count) {
  int64_t done = 0;
  for (; done < count && (first + done) % 8 != 0; ++done) to[done] = codeAt<kBits>(stream, first + done);
  const uint8_t* from = stream + (first + done) / 8 * kBits;
  for (; done + 8 <= count; done += 8, from += kBits) {
    if constexpr (kBits == 4) {
      for (int i = 0; i < 4; ++i) {
        to[done + 2 * i] = from[i] & 15;
        to[done + 2 * i + 1] = from[i] >> 4;
      }
    } else {
      uint32_t word = 0;
      for (int i = 0; i < kBits; ++i) word |= static_cast<uint32_t>(from[i]) << 8 * i;
      for (int i = 0; i < 8; ++i) to[done + i] = static_cast<uint8_t>(word >> i * kBits & ((1u << kBits) - 1));
    }
  }
  for (; done < count; ++done) to[done] = codeAt<kBits>(stream, first + done);
}

}  // namespace

void unpackCodes(uint8_t* to, const void* codes, CodeType type, int64_t start, int64_t count) {
  const uint8_t* bytes = static_cast<const uint8_t*>(codes) + start / 8 * codeBits(type);
  switch (codeBits(type)) {
    case 2: return unpack<2>(to, bytes, start % 8, count);
    case 3: return unpack<3>(to, bytes, start % 8, count);
    case 4: return unpack<4>(to, bytes, start % 8, count);
    default: std::copy(bytes + start % 8, bytes + start % 8 + count, to);
  }
}

void dequantizeRow(float* to, const QuantizedMatrix& weight, int64_t row, int64_t start, int64_t count) {
  const void* codes = static_cast<const char*>(weight.codes) + row * weight.codeStride;
  const int64_t scaleRow = row / weight.groupRows * weight.groups, end = start + count;
  uint8_t piece[kPiece];
  for (int64_t first = start; first < end; first += kPiece) {
    const int64_t last = std::min(end, first + kPiece);
    unpackCodes(piece, codes, weight.codeType, first, last - first);
    for (int64_t k = first; k < last;) {
      const int64_t next = runEnd(weight, k, last);
      const int64_t group = scaleRow + (weight.groupIndex ? weight.groupIndex[k] : k / weight.groupColumns);
      const int zero = weight.zeros ? weight.zeros[group] : middleCode(weight.codeType);
      scaleRun(to + (k - start), piece + (k - first), weight.codeType, zero, scaleAt(weight, group), next - k);
      k = next;
    }
  }
}

void quantizeRow(float* x, int64_t count, CodeType type, const ActivationQuantization& how) {
  const float largestCode = type == CodeType::kE4M3 ? kLargestE4m3 : 127.0f;
  const int64_t group = how.scaling == ActivationScaling::kGroup ? how.group : count;
  for (int64_t first = 0; first < count; first += group) {
    const int64_t some = std::min(group, count - first);
    float scale = how.inputScale;
    if (how.scaling != ActivationScaling::kStatic) {
      float largest = largestMagnitude(x + first, some);
      if (how.scaling == ActivationScaling::kGroup) largest = std::max(largest, kLeastGroup);
      scale = std::max(largest / largestCode, std::numeric_limits<float>::min());
    }
    for (int64_t i = first; i < first + some; ++i) x[i] = codeOf(type, x[i] / scale) * scale;
  }
}

}  // namespace octavo::cpu
