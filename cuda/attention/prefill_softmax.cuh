// The running softmax of the prefill kernels, on accumulators as tensor-core products leave them: of 16 rows a lane
// holds two, 8 apart; its value i is of the row i / 2 % 2 and the column 8 · (i / 4) + 2 · (lane % 4) + i % 2.
#pragma once

#include "base/dtype.h"
#include "cuda/attention/variant.cuh"
#include "cuda/device/floats.cuh"
#include "cuda/ptx/numbers.cuh"

namespace octavo::cuda {

constexpr float kUnseen = -1e38f;  // the base of a row that has seen no key: finite, so that −inf − base is no NaN
constexpr float kRise = 8;         // weights stay below 2^kRise

/** Of a lane's two rows. A weight is 2^(score · scale · log2 e − base). The base is a maximum of the row, or was one. */
struct Softmax {
  float base[2] = {kUnseen, kUnseen}, sum[2] = {0, 0};
};

/** What products of a lane's two rows are multiplied by, in log2 units, where the rows differ in it. */
struct RowScales {
  float of[2] = {0, 0};
};
__device__ __forceinline__ float scaleOf(float scale, int) { return scale; }
__device__ __forceinline__ float scaleOf(const RowScales& scales, int r) { return scales.of[r]; }

/** −inf where a row does not see a key. `position`: of the lane's first row; `firstKey`: of the tile. */
template <int kCount>
__device__ __forceinline__ void maskScores(float (&scores)[kCount], int position, int firstKey, int window) {
  int last = position - firstKey - static_cast<int>(threadIdx.x) % 4 * 2;  // column that the first row sees
  int before = last - window;
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    int column = (i >> 2) * 8 + (i & 1), down = (i >> 1 & 1) * 8;
    if (column > last + down || (window > 0 && column <= before + down)) scores[i] = -INFINITY;
  }
}

/**
 * Whether the base of any row of the warp must follow, because a score rose above it by more than kRise: in most tiles
 * none does, and no lanes need to exchange anything. As integers floats compare rightly where one of them is positive;
 * where none is, 0 stands for their maximum, and a true answer may be one too many.
 */
template <int kCount, typename Scale>
__device__ __forceinline__ bool rises(const Softmax& softmax, const float (&scores)[kCount], const Scale& scaleLog2) {
  constexpr int kChains = 4;  // independent ones, for the latency
  bool rise = false;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    int most[kChains];
#pragma unroll
    for (int i = 0; i < kCount / 4; ++i) {
      int first = __float_as_int(scores[4 * i + 2 * r]), second = __float_as_int(scores[4 * i + 2 * r + 1]);
      most[i % kChains] = i < kChains ? max(first, second) : __vimax3_s32(most[i % kChains], first, second);
    }
    float top = __int_as_float(__vimax3_s32(max(most[0], most[1]), most[2], most[3]));
    rise = rise || fmaxf(top * scaleOf(scaleLog2, r), 0) > softmax.base[r] + kRise;
  }
  return __any_sync(0xffffffffu, rise);
}

/** What a lane's outputs so far are multiplied by when its rows' bases have followed. */
struct Correction {
  float factors[2];

  template <int kCount>
  __device__ __forceinline__ void apply(float (&out)[kCount]) const {
#pragma unroll
    for (int i = 0; i < kCount; ++i) out[i] *= factors[i >> 1 & 1];
  }
};

/** Brings the bases of those rows that need it to their maxima. Whether one does depends on the row alone. */
template <int kCount, typename Scale>
__device__ __forceinline__ Correction rebase(Softmax& softmax, const float (&scores)[kCount], const Scale& scaleLog2) {
  Correction correction;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float most = scores[2 * r];
#pragma unroll
    for (int i = 2 * r; i < kCount; i += 4) most = fmaxf(most, fmaxf(scores[i], scores[i + 1]));
    most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 1));
    most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 2)) * scaleOf(scaleLog2, r);
    float base = most > softmax.base[r] + kRise ? most : softmax.base[r];
    correction.factors[r] = ptx::exp2Approximate(softmax.base[r] - base);
    softmax.base[r] = base;
    softmax.sum[r] *= correction.factors[r];
  }
  return correction;
}

/** Scores to weights in place. */
template <int kCount, typename Scale>
__device__ __forceinline__ void weigh(Softmax& softmax, float (&scores)[kCount], const Scale& scaleLog2) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const float scale = scaleOf(scaleLog2, r);
    float even = 0, odd = 0;
#pragma unroll
    for (int i = 2 * r; i < kCount; i += 4) {
      scores[i] = ptx::exp2Approximate(fmaf(scores[i], scale, -softmax.base[r]));
      scores[i + 1] = ptx::exp2Approximate(fmaf(scores[i + 1], scale, -softmax.base[r]));
      even += scores[i];
      odd += scores[i + 1];
    }
    softmax.sum[r] += even + odd;
  }
}

/** Weights as the left operand of the second product. */
template <DType kType, int kCount>
__device__ __forceinline__ void packWeights(uint32_t (&packed)[kCount], const float (&weights)[2 * kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    float low = weights[2 * i], high = weights[2 * i + 1];
    packed[i] = kType == DType::kBF16 ? packBf16(low, high) : packF16(low, high);
  }
}

/** How row r of the lane ends. By all lanes of the warp. */
__device__ __forceinline__ SoftmaxEnd endRow(const Softmax& softmax, int r, const Variant& variant, int head) {
  float sum = softmax.sum[r];
  sum += __shfl_xor_sync(0xffffffffu, sum, 1);
  sum += __shfl_xor_sync(0xffffffffu, sum, 2);
  return {variant, head, softmax.base[r], sum};
}

/** Products under the soft cap, as such: not in log2 units yet. */
template <int kCount, typename Scale>
__device__ __forceinline__ void capScores(float (&scores)[kCount], const Variant& variant, const Scale& scaleLog2) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const float scale = scaleOf(scaleLog2, r), back = __fdividef(1.0f, scale);
#pragma unroll
    for (int i = 2 * r; i < kCount; i += i % 2 == 0 ? 1 : 3) {
      scores[i] = cappedRoughly(scores[i] * scale, variant.cap, variant.inverseCap) * back;
    }
  }
}

/** Two neighbours, as one where the output is of 16 bits and aligned. */
__device__ __forceinline__ void storePair(void* data, DType dtype, int64_t index, float low, float high,
                                          bool storesPairs) {
  if (storesPairs) {
    uint32_t pair = dtype == DType::kBF16 ? packBf16(low, high) : packF16(low, high);
    *reinterpret_cast<uint32_t*>(static_cast<uint16_t*>(data) + index) = pair;
  } else {
    storeFloat(data, dtype, index, low);
    storeFloat(data, dtype, index + 1, high);
  }
}

}  // namespace octavo::cuda
