// Codes as they lie in memory, to numbers: the same bits as cpp/ops/cpu/dequantize.cc makes.
#pragma once

#include "cuda/device/floats.cuh"
#include "cuda/quantized/tiles.cuh"
#include "ops/quantized_matrix.h"

namespace octavo::cuda {

/** 32 codes of a row: as many words as a code has bits. */
constexpr int kSpan = 32;

template <CodeType kType>
struct CodeSpan {
  static constexpr int kBits = codeBits(kType);
  uint32_t words[kBits];

  /** From `from`, of which only `bytes` bytes may be read; the rest is zeros. */
  __device__ __forceinline__ void load(const uint8_t* from, int64_t bytes) {
    if constexpr (kBits == 3) {
      const uint32_t* source = reinterpret_cast<const uint32_t*>(from);
#pragma unroll
      for (int i = 0; i < kBits; ++i) words[i] = bytes >= 4 * (i + 1) ? __ldcs(source + i) : 0;
    } else if constexpr (kBits == 2) {
      uint2 pair = __ldcs(reinterpret_cast<const uint2*>(from));
      words[0] = pair.x;
      words[1] = pair.y;
    } else {
      const uint4* source = reinterpret_cast<const uint4*>(from);
#pragma unroll
      for (int i = 0; i < kBits / 4; ++i) {
        uint4 four = bytes >= 16 * (i + 1) ? __ldcs(source + i) : make_uint4(0, 0, 0, 0);
        words[4 * i] = four.x;
        words[4 * i + 1] = four.y;
        words[4 * i + 2] = four.z;
        words[4 * i + 3] = four.w;
      }
    }
  }

  /** `index` must be known to the compiler once loops are unrolled. */
  __device__ __forceinline__ uint32_t code(int index) const {
    int word = index * kBits / 32, bit = index * kBits % 32;
    constexpr uint32_t kMask = (1u << kBits) - 1;
    if (bit + kBits <= 32) return words[word] >> bit & kMask;
    return __funnelshift_r(words[word], words[word + 1], bit) & kMask;
  }
};

/** e4m3 is fp16 with an exponent 8 lower and 7 bits of fraction less; NaN has a code of its own. */
__device__ __forceinline__ float e4m3Number(uint32_t code) {
  __half_raw half;
  half.x = static_cast<unsigned short>((code & 0x80u) << 8 | (code & 0x7fu) << 7);
  float value = __half2float(half) * 256.0f;
  return (code & 0x7fu) == 0x7fu ? __uint_as_float(0x7fc00000u) : value;
}

/** code − zero, exact. */
template <CodeType kType>
__device__ __forceinline__ float codeNumber(uint32_t code, int zero) {
  if constexpr (kType == CodeType::kE4M3) return e4m3Number(code);
  else if constexpr (kType == CodeType::kI8) return static_cast<float>(static_cast<int8_t>(code) - zero);
  else return static_cast<float>(static_cast<int>(code) - zero);
}

/** What turns a code of one group into a number. */
struct GroupScale {
  float scale;
  int zero;

  __device__ __forceinline__ GroupScale(const QuantizedMatrix& weight, int64_t scaleRow, int64_t group) {
    int64_t index = weight.order == CodeOrder::kTiles ? tileScaleIndex(weight.groups, scaleRow, group)
                                                      : scaleRow * weight.groups + group;
    scale = loadFloat(weight.scales, weight.scaleType, index);
    zero = weight.zeros ? weight.zeros[index] : middleCode(weight.codeType);
  }
};

/** The group of column k; columns fit 31 bits, whose division is the quicker one. */
__device__ __forceinline__ int64_t groupOf(const QuantizedMatrix& weight, int64_t column) {
  if (weight.groupIndex) return weight.groupIndex[column];
  return static_cast<uint32_t>(column) / static_cast<uint32_t>(weight.groupColumns);
}

__device__ __forceinline__ int64_t scaleRowOf(const QuantizedMatrix& weight, int64_t row) {
  return weight.groupRows == 1 ? row : row / weight.groupRows;
}

/** Eight codes from column `column` on, a multiple of 8: as many bytes as a code has bits. */
template <CodeType kType>
__device__ __forceinline__ void loadCodes(uint32_t (&codes)[kChunk], const uint8_t* row, int64_t stride,
                                          int64_t column) {
  constexpr int kBits = codeBits(kType);
  int64_t at = column / 8 * kBits;
  uint64_t bits = 0;
  if constexpr (kBits == 8) {
    uint2 pair = *reinterpret_cast<const uint2*>(row + at);
    bits = static_cast<uint64_t>(pair.y) << 32 | pair.x;
  } else if constexpr (kBits == 4) {
    bits = *reinterpret_cast<const uint32_t*>(row + at);
  } else if constexpr (kBits == 2) {
    bits = *reinterpret_cast<const uint16_t*>(row + at);
  } else {
#pragma unroll
    for (int i = 0; i < kBits; ++i) bits |= at + i < stride ? static_cast<uint64_t>(row[at + i]) << 8 * i : 0;
  }
#pragma unroll
  for (int i = 0; i < kChunk; ++i) codes[i] = static_cast<uint32_t>(bits >> i * kBits) & ((1u << kBits) - 1);
}

/** The codes of columns `column`, which is even, and one further of a weight in tiles, in the halves of a word. */
template <CodeType kType>
__device__ __forceinline__ uint32_t loadTilePair(const QuantizedMatrix& weight, int64_t row, int64_t column) {
  constexpr int kBits = codeBits(kType);
  const uint8_t* tiles = static_cast<const uint8_t*>(weight.codes) + row / kTileRows * kTileRows * weight.codeStride;
  int within = static_cast<int>(column % kTileColumns), rowWithin = static_cast<int>(row % kTileRows);
  const uint8_t* strip = tiles + column / kTileColumns * tileBytes(kBits) + rowWithin / kStripRows * stripBytes(kBits);
  int pair = within / 16 * 4 + within % 16 / 8 * 2 + rowWithin / 8 % 2, lane = rowWithin % 8 * 4 + within % 8 / 2;
  auto word = [&](int index) {
    return *reinterpret_cast<const uint32_t*>(strip + tileWordOffset<kBits>(lane, index));
  };
  int first = pairWord<kBits>(pair);
  uint32_t both = word(first) >> pairBit<kBits>(pair) & ((1u << kBits) - 1) * 0x10001u;
  if (kBits == 3 && pair == 15) {
    both = (both & 0x10001u) | (word(first + 1) >> 14 & 0x20002u) | (word(first + 2) >> 13 & 0x40004u);
  }
  return both;
}

/** Eight codes of a weight in tiles. */
template <CodeType kType>
__device__ __forceinline__ void loadTileCodes(uint32_t (&codes)[kChunk], const QuantizedMatrix& weight, int64_t row,
                                              int64_t column) {
#pragma unroll
  for (int i = 0; i < kChunk; i += 2) {
    uint32_t both = loadTilePair<kType>(weight, row, column + i);
    codes[i] = both & 0xffffu;
    codes[i + 1] = both >> 16;
  }
}

/** Eight numbers whose columns stand elsewhere: see CodeOrder. */
template <CodeType kType>
__device__ __forceinline__ void loadPlacedNumbers(float (&numbers)[kChunk], const QuantizedMatrix& weight, int64_t row,
                                                  int64_t column) {
#pragma unroll
  for (int i = 0; i < kChunk; ++i) {
    numbers[i] = 0;
    if (column + i >= weight.columns) continue;
    int place = weight.groupIndex[column + i];
    uint32_t code = loadTilePair<kType>(weight, row, place & ~1) >> place % 2 * 16 & 0xffffu;
    GroupScale group(weight, row, place / weight.groupColumns);
    numbers[i] = __fmul_rn(codeNumber<kType>(code, group.zero), group.scale);
  }
}

/** Eight numbers of a row from column `column` on, a multiple of 8; zeros past the last column. */
template <CodeType kType>
__device__ __forceinline__ void loadNumbers(float (&numbers)[kChunk], const QuantizedMatrix& weight, int64_t row,
                                            int64_t column) {
  if (weight.order == CodeOrder::kTiles && weight.groupIndex) {
    loadPlacedNumbers<kType>(numbers, weight, row, column);
    return;
  }
  uint32_t codes[kChunk];
  const uint8_t* codeRow = static_cast<const uint8_t*>(weight.codes) + row * weight.codeStride;
  if (weight.order == CodeOrder::kTiles) loadTileCodes<kType>(codes, weight, row, column);
  else loadCodes<kType>(codes, codeRow, weight.codeStride, column);
  int64_t scaleRow = scaleRowOf(weight, row);
  bool oneGroup = !weight.groupIndex && (weight.groups == 1 || weight.groupColumns % kChunk == 0);
  GroupScale group(weight, scaleRow, groupOf(weight, column));
#pragma unroll
  for (int i = 0; i < kChunk; ++i) {
    bool inside = column + i < weight.columns;
    if (!oneGroup && inside) group = GroupScale(weight, scaleRow, groupOf(weight, column + i));
    // What follows the last code of a row is anything, NaN too: it must not meet a product.
    numbers[i] = inside ? __fmul_rn(codeNumber<kType>(codes[i], group.zero), group.scale) : 0.0f;
  }
}

/** Calls `body.template operator()<type>()` for the type of a weight's codes. */
template <typename Body>
void forCodeType(CodeType type, const Body& body) {
  switch (type) {
    case CodeType::kU2: return body.template operator()<CodeType::kU2>();
    case CodeType::kU3: return body.template operator()<CodeType::kU3>();
    case CodeType::kU4: return body.template operator()<CodeType::kU4>();
    case CodeType::kU8: return body.template operator()<CodeType::kU8>();
    case CodeType::kI8: return body.template operator()<CodeType::kI8>();
    case CodeType::kE4M3: return body.template operator()<CodeType::kE4M3>();
  }
}

}  // namespace octavo::cuda
