// Codes of a cache in the products of decodes: how they become fragments, and where their scales go.
//
// Products are of fp16 whatever the query, which is brought to fp16 by a power of two a row: codes and 8 bits of a
// query are exact in it, and there is one kernel for both dtypes. A word of codes of a key is four neighbouring dims,
// two pairs of a step of 16: the query's dims lie in the same order (CodedQueryCopy). A word of transposed values is
// two dims of two keys: dims 2 i and 2 i + 1 stand in the rows i and i + 8 of the product.
//
// A lane turns 128 codes of a slice of dim 128 to fragments by 64 conversions and 16 byte permutes (int8: 160
// instructions), beside 8 loads of matrices, 16 products and about 50 instructions of the softmax: some 160 (240) for
// the warp's 4 KiB. A multiprocessor issues 4 a clock: 100 (68) bytes a clock, where memory brings 19.
#pragma once

#include "cuda/attention/code_pairs.cuh"
#include "cuda/attention/split_query.cuh"
#include "cuda/ptx/shared_memory.cuh"

namespace octavo::cuda::split {

/**
 * Where 16-byte chunks of a slice's rows lie: in boxes of 128 columns, XOR-swizzled by the row of 128 bytes, which dims
 * of 64 share by two. The slice starts at a multiple of 1024.
 */
template <int kDim>
struct CodeRows {
  static constexpr int kBytes = 16 * kDim;
  static constexpr int kShared = kDim == 64 ? 1 : 0;  // log2 of the keys in 128 bytes
  static __device__ __forceinline__ uint32_t at(int row, int chunk) {
    const int line = row >> kShared, column = (row & kShared) * 4 + chunk;
    return line * 128 + ((column ^ (line & 7)) << 4);
  }
  /** Two chunks, of 32 dims, are a step. `from`: of step 0. */
  static __device__ __forceinline__ uint32_t step(uint32_t from, int step) {
    return (from ^ ((step & 3) * 32)) + step / 4 * 2048;
  }
};

/**
 * All rows on their way to shared memory, by a warp, where they are of fp16; each row's factor lies after its dims. They
 * are converted one by one as they are stored: of 32 rows a lane has registers for little else.
 */
template <int kDim, int kTiles, bool kFew>
class CodedQueryCopy {
 public:
  __device__ __forceinline__ CodedQueryCopy(const Arguments& a, const Unit& unit)
      : isBf16_(a.query.dtype == DType::kBF16), scaleLog2_(a.scaleLog2) {
    const uint16_t* from = static_cast<const uint16_t*>(a.query.data);
    const int count = unit.share * unit.tokens;
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int row = place(i) / kChunks, chunk = place(i) % kChunks;
      words_[i] = make_uint4(0, 0, 0, 0);
      if (row >= count) continue;
      words_[i] = *reinterpret_cast<const uint4*>(from + rowStart<kFew>(a.query, unit, row) + chunk * 8);
    }
  }
  __device__ __forceinline__ void store(float4* to) const {
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int row = place(i) / kChunks, chunk = place(i) % kChunks;
      store(reinterpret_cast<uint8_t*>(to) + row * (kDim * 2 + 16), chunk, words_[i]);
    }
  }

 private:
  static constexpr int kChunks = kDim / 8, kEach = kTiles * 8 * kChunks / 32;
  static __device__ __forceinline__ int place(int i) { return i * 32 + static_cast<int>(threadIdx.x % 32); }

  /** The largest of a row, which kChunks lanes have, comes to lie in 2¹⁴ … 2¹⁵. */
  __device__ __forceinline__ void store(uint8_t* to, int chunk, const uint4& bits) const {
    float values[8], largest = 0;
    unpackChunk(values, bits, isBf16_);
#pragma unroll
    for (float value : values) largest = fmaxf(largest, fabsf(value));
#pragma unroll
    for (int offset = 1; offset < kChunks; offset <<= 1) {
      largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, offset));
    }
    const uint32_t exponent = __float_as_uint(largest) >> 23;
    const uint32_t up = exponent == 255 ? 127 : min(268 - exponent, 253u);
    const float factor = __uint_as_float(up << 23);
#pragma unroll
    for (float& value : values) value *= factor;
    uint2* const words = reinterpret_cast<uint2*>(to + chunk / 2 * 32 + chunk % 2 * 8);
    words[0] = make_uint2(packF16(values[0], values[1]), packF16(values[4], values[5]));
    words[2] = make_uint2(packF16(values[2], values[3]), packF16(values[6], values[7]));
    if (chunk == 0) *reinterpret_cast<float*>(to + kDim * 2) = __uint_as_float((254 - up) << 23) * scaleLog2_;
  }

  const bool isBf16_;
  const float scaleLog2_;
  uint4 words_[kEach];
};

/** What brings the products of the lane's rows to log2 units. */
template <int kTiles>
struct RowFactors {
  float values[kTiles][2];
  template <int kDim>
  __device__ __forceinline__ void load(uint32_t rows) {
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const int row = tile * 8 + static_cast<int>(threadIdx.x) % 4 * 2 + r;
        values[tile][r] = ptx::loadShared(rows + row * (kDim * 2 + 16) + kDim * 2);
      }
    }
  }
};

/**
 * Of the lane's keys of a slice, g and g + 8. A value's scale is in the exponent of its weight, and not in the sum: so
 * weights fit fp16 whatever the scales, and the largest product of both is near 2^kShift.
 */
struct KeyScales {
  static constexpr float kShift = 12;
  static constexpr float kLeastScale = 0x1p-64f;  // where it is less all values are as good as 0
  float key[2] = {1, 1}, log[2] = {0, 0}, inverse[2] = {1, 1};

  /** From shared memory, 64 bytes of keys, then of values: one a key, or of all. */
  template <bool kEachKey>
  __device__ __forceinline__ void load(uint32_t from, const Visible& visible) {
    const int first = static_cast<int>(threadIdx.x) % 32 / 4;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int at = first + half * 8, offset = kEachKey ? at * 4 : 0;
      const bool isSeen = at >= visible.first && at < visible.end;  // of others there may be no number
      const float value = ptx::loadShared(from + 64 + offset);
      key[half] = isSeen ? ptx::loadShared(from + offset) : 0.0f;
      const float scale = !isSeen ? 1.0f : value < kLeastScale ? kLeastScale : value;
      log[half] = ptx::log2Approximate(scale);
      inverse[half] = ptx::exp2Approximate(-log[half]);  // of what the weight has, whose error it takes back
    }
  }
  __device__ __forceinline__ float counted(float weight, int half) const { return weight * inverse[half]; }
};

/** Products Sᵀ of 16 keys and the rows. */
template <DType kCode, int kDim, int kTiles, typename Query>
__device__ __forceinline__ void multiplyCodes(float (&products)[kTiles][4], const Query& query, uint32_t keys) {
  using Rows = CodeRows<kDim>;
  const int lane = static_cast<int>(threadIdx.x % 32);
  const uint32_t from = keys + Rows::at(lane & 15, lane >> 4);
  float halves[2][kTiles][4] = {};  // two chains of products: each waits for its own last only
#pragma unroll
  for (int step = 0; step < kDim / 32; ++step) {
    uint32_t codes[4];
    ptx::loadMatrices(codes, Rows::step(from, step));
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      uint32_t k[4], q[kTiles][2];
      widenCodes<kCode, DType::kF16>(codes[2 * half], k[0], k[2]);
      widenCodes<kCode, DType::kF16>(codes[2 * half + 1], k[1], k[3]);
      query.get(q, step * 2 + half);
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile) {
        ptx::multiplyAdd<DType::kF16>(halves[half][tile], k, q[tile][0], q[tile][1]);
      }
    }
  }
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
    for (int i = 0; i < 4; ++i) products[tile][i] = halves[0][tile][i] + halves[1][tile][i];
  }
}

/** These to scores in log2 units, with the logarithms of the values' scales. */
template <bool kCaps, int kTiles>
__device__ __forceinline__ void scaleProducts(float (&scores)[kTiles][4], const RowFactors<kTiles>& factors,
                                              const KeyScales& scales, const Scoring& scoring) {
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      float& score = scores[tile][i];
      const float factor = factors.values[tile][i & 1] * scales.key[i >> 1], log = scales.log[i >> 1];
      if constexpr (kCaps) score = cappedRoughly(score * factor, scoring.cap, scoring.inverseCap) + log;
      else score = fmaf(score, factor, log);
    }
  }
}

/** addSlices of codes. */
template <DType kCode, int kDim, int kTiles, int kSlices, typename Query, bool kFew>
__device__ __forceinline__ void addCodes(State<kDim, kTiles>& state, const Query& query,
                                         const RowFactors<kTiles>& factors, const uint32_t (&keys)[kSlices],
                                         const KeyScales (&scales)[kSlices], const Scoring& scoring,
                                         const Visible (&visible)[kSlices], const RowTokens<kFew>& tokens) {
  using Rows = CodeRows<kDim>;
  constexpr int kTogether = kFew ? 1 : kSlices;
  Weights<DType::kF16, kDim, kTiles, kTogether, KeyScales> weights[kSlices / kTogether];
#pragma unroll
  for (int i = 0; i < kSlices; ++i) {
    auto& of = weights[i / kTogether];
    of.scales[i % kTogether] = scales[i];
    multiplyCodes<kCode, kDim, kTiles>(of.scores[i % kTogether], query, keys[i]);
  }
  if (scoring.cap > 0) {
#pragma unroll
    for (int i = 0; i < kSlices; ++i) {
      scaleProducts<true>(weights[i / kTogether].scores[i % kTogether], factors, scales[i], scoring);
    }
  } else {
#pragma unroll
    for (int i = 0; i < kSlices; ++i) {
      scaleProducts<false>(weights[i / kTogether].scores[i % kTogether], factors, scales[i], scoring);
    }
  }
#pragma unroll
  for (int i = 0; i < kSlices; ++i) {
    hideUnseen<kTiles>(weights[i / kTogether].scores[i % kTogether], visible[i], tokens);
  }
  const int lane = static_cast<int>(threadIdx.x % 32);
  const uint32_t offset = Rows::kBytes + Rows::at(lane & 15, lane >> 4);
#pragma unroll
  for (int i = 0; i < kSlices; ++i) {
    if (i % kTogether == 0) weights[i / kTogether].enter(state);
    const auto& rounded = weights[i / kTogether].rounded[i % kTogether];
#pragma unroll
    for (int step = 0; step < kDim / 32; ++step) {
      uint32_t codes[4];
      ptx::loadMatricesTransposed(codes, Rows::step(keys[i] + offset, step));
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        uint32_t v[4];
        widenCrosswise<kCode, DType::kF16>(codes[2 * half], v[0], v[1]);
        widenCrosswise<kCode, DType::kF16>(codes[2 * half + 1], v[2], v[3]);
#pragma unroll
        for (int tile = 0; tile < kTiles; ++tile) {
          ptx::multiplyAdd<DType::kF16>(state.values[step * 2 + half][tile], v, rounded[tile][0], rounded[tile][1]);
        }
      }
    }
  }
}

}  // namespace octavo::cuda::split
