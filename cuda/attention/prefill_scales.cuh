// The scales of a tile of keys and values of codes, in shared memory: a column of scores each.
#pragma once

#include "cuda/attention/attention.h"
#include "cuda/attention/code_pairs.cuh"
#include "cuda/attention/prefill_softmax.cuh"
#include "cuda/attention/prefill_work.cuh"
#include "cuda/ptx/shared_memory.cuh"

namespace octavo::cuda {

/**
 * A key's scale multiplies its scores; a value's is in the exponent of its weight, and not in the sum: so weights fit 16
 * bits whatever the scales. Those of keys that nobody sees are 1.
 */
template <int kKeys>
struct TileScales {
  static constexpr int kBytes = 3 * kKeys * static_cast<int>(sizeof(float));
  static constexpr float kLeastScale = 0x1p-64f;  // where it is less all values are as good as 0
  /** So much is added to all logarithms: scores of which all are negative would rebase at every tile (see rises). */
  static constexpr float kLift = 16, kDrop = 0x1p-16f;
  float key[kKeys], log[kKeys], inverse[kKeys];  // inverse: of 2^log, for the sums

  /** Of a key: what its scores and its values are multiplied by. */
  struct Pair {
    float ofKey = 1, ofValue = 1;
  };
  /** Those of key `at` of a tile. */
  static __device__ __forceinline__ Pair pairAt(const CacheLayout& cache, const AttentionBatch& batch,
                                                const PrefillWork& work, int tile, int at, int window, int groupSize) {
    const int token = tile * kKeys + at, head = work.head / groupSize;
    Pair pair;
    if (token < work.endKey() && work.seesBefore(token / 16 * 16 + 16, window)) {
      const int64_t block = work.blockAt(batch, token / cache.blockSize);
      pair.ofKey = *cache.scale(block, 0, head, token % cache.blockSize);
      pair.ofValue = *cache.scale(block, 1, head, token % cache.blockSize);
    }
    return pair;
  }
  __device__ __forceinline__ void store(int at, const Pair& pair) {
    key[at] = pair.ofKey;
    log[at] = ptx::log2Approximate(pair.ofValue < kLeastScale ? kLeastScale : pair.ofValue) + kLift;
    inverse[at] = ptx::exp2Approximate(-log[at]);
  }
  __device__ __forceinline__ void load(const CacheLayout& cache, const AttentionBatch& batch, const PrefillWork& work,
                                       int tile, int at, int window, int groupSize) {
    store(at, pairAt(cache, batch, work, tile, at, window, groupSize));
  }

  template <int kCount>
  __device__ __forceinline__ void multiplyKeys(float (&scores)[kCount]) const {
#pragma unroll
    for (int i = 0; i < kCount; i += 4) {
      const float2 factors = pairOf(key, i);
#pragma unroll
      for (int r = 0; r < 4; ++r) scores[i + r] *= r % 2 == 0 ? factors.x : factors.y;
    }
  }
  /** To scores that are multiplied by scaleLog2 later. */
  template <int kCount, typename Scale>
  __device__ __forceinline__ void addLogs(float (&scores)[kCount], const Scale& scaleLog2) const {
    // Without a call while products are under way.
    const float backs[2] = {__fdividef(1.0f, scaleOf(scaleLog2, 0)), __fdividef(1.0f, scaleOf(scaleLog2, 1))};
#pragma unroll
    for (int i = 0; i < kCount; i += 4) {
      const float2 logs = pairOf(log, i);
#pragma unroll
      for (int r = 0; r < 4; ++r) scores[i + r] = fmaf(r % 2 == 0 ? logs.x : logs.y, backs[r / 2], scores[i + r]);
    }
  }
  /** weigh of the softmax: the sum is of weights without the scales of values. */
  template <int kCount, typename Scale>
  __device__ __forceinline__ void weigh(Softmax& softmax, float (&scores)[kCount], const Scale& scaleLog2) const {
#pragma unroll
    for (int i = 0; i < kCount; i += 4) {
      const float2 inverses = pairOf(inverse, i);
#pragma unroll
      for (int r = 0; r < 4; ++r) {
        scores[i + r] = ptx::exp2Approximate(fmaf(scores[i + r], scaleOf(scaleLog2, r / 2), -softmax.base[r / 2]));
        softmax.sum[r / 2] = fmaf(scores[i + r], r % 2 == 0 ? inverses.x : inverses.y, softmax.sum[r / 2]);
      }
    }
  }

 private:
  /** Of the columns of values i and i + 1 of the lane. */
  static __device__ __forceinline__ float2 pairOf(const float* of, int i) {
    return *reinterpret_cast<const float2*>(of + i / 4 * 8 + threadIdx.x % 4 * 2);
  }
};

/** Outputs drop by what logarithms were lifted. */
inline Variant prefillVariant(const PagedAttention& attention) {
  Variant variant(attention.variant, attention.cache, attention.query.heads);
  const KvScaling scaling = attention.cache.scaling;
  if (scaling == KvScaling::kHead || scaling == KvScaling::kToken) variant.valueScale *= TileScales<16>::kDrop;
  return variant;
}

}  // namespace octavo::cuda
