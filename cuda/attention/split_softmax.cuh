// The running softmax of a warp over its slices of a chunk, in the fragments of mma.m16n8k16: lane 4g + t holds columns
// 2t and 2t + 1 of a tile of 8 query rows.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "cuda/attention/variant.cuh"
#include "cuda/device/floats.cuh"
#include "cuda/ptx/warp_mma.cuh"

namespace octavo::cuda::split {

/** Unnormalised output, transposed [dim, rows], of kTiles · 8 query rows over some keys. */
template <int kDim, int kTiles>
struct State {
  float maximum[kTiles][2], sum[kTiles][2];
  float values[kDim / 16][kTiles][4];

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        maximum[tile][r] = -INFINITY;
        sum[tile][r] = 0;
      }
#pragma unroll
      for (int m = 0; m < kDim / 16; ++m) {
#pragma unroll
        for (int i = 0; i < 4; ++i) values[m][tile][i] = 0;
      }
    }
  }

  __device__ __forceinline__ void scale(const float (&corrections)[kTiles][2]) {
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
      sum[tile][0] *= corrections[tile][0];
      sum[tile][1] *= corrections[tile][1];
#pragma unroll
      for (int m = 0; m < kDim / 16; ++m) {
#pragma unroll
        for (int i = 0; i < 4; ++i) values[m][tile][i] *= corrections[tile][i & 1];
      }
    }
  }

  /** Every lane has summed its own keys; now all keys of the chunk. */
  __device__ __forceinline__ void closeSum() {
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
#pragma unroll
        for (int offset = 4; offset < 32; offset <<= 1) {
          sum[tile][r] += __shfl_xor_sync(0xffffffffu, sum[tile][r], offset);
        }
      }
    }
  }

  /** To `at`, for other warps: of each tile its maxima and sums, then its values; a vector of all lanes each. */
  __device__ __forceinline__ void store(float4* at) const {
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
      at[tile * 32] = make_float4(maximum[tile][0], maximum[tile][1], sum[tile][0], sum[tile][1]);
#pragma unroll
      for (int m = 0; m < kDim / 16; ++m) {
        const float(&v)[4] = values[m][tile];
        at[(kTiles + m * kTiles + tile) * 32] = make_float4(v[0], v[1], v[2], v[3]);
      }
    }
  }
};

template <DType kType>
__device__ __forceinline__ uint32_t packPair(float low, float high) {
  return kType == DType::kBF16 ? packBf16(low, high) : packF16(low, high);
}

template <DType kType>
__device__ __forceinline__ void unpackPair(uint32_t pair, float& low, float& high) {
  if constexpr (kType == DType::kBF16) unpackBf16(pair, low, high);
  else unpackF16(pair, low, high);
}

/** Which keys of a slice are there: the first token sees from `first` on, the last one up to `end`. */
struct Visible {
  int first, end;
  __device__ __forceinline__ bool all() const { return first <= 0 && end >= 16; }
};

/** Query rows of an item: rows `share` apart are of consecutive tokens. */
template <bool kFew>
struct RowTokens {
  int count, share;
  int first;  // row of the warp
  /** Whether every row sees all of the slice. */
  __device__ __forceinline__ bool seeAll(const Visible& visible) const {
    int later = kFew ? count - 1 : 0;
    return visible.first + later <= 0 && visible.end - later >= 16;
  }
  __device__ __forceinline__ bool sees(const Visible& visible, int row, int key) const {
    int token = kFew ? min((first + row) / share, count - 1) : 0, later = kFew ? count - 1 - token : 0;
    return key >= visible.first + token && key < visible.end - later;
  }
};

/** Where the 16-byte chunks of a slice's rows lie in shared memory: eight rows of a column in different banks. */
template <int kDim, bool kSwizzled>
struct SliceRows;

/** Padded by a chunk. */
template <int kDim>
struct SliceRows<kDim, false> {
  static constexpr int kRowBytes = kDim * 2 + 16, kBytes = 16 * kRowBytes;
  static __device__ __forceinline__ uint32_t at(int row, int chunk) { return row * kRowBytes + chunk * 16; }
  /** Two chunks are a step. `from`: of step 0. */
  static __device__ __forceinline__ uint32_t step(uint32_t from, int step) { return from + step * 32; }
};

/** In boxes of 64 columns, the chunks of a row XOR-swizzled by the row; the slice starts at a multiple of 1024. */
template <int kDim>
struct SliceRows<kDim, true> {
  static constexpr int kBytes = 16 * kDim * 2;
  static __device__ __forceinline__ uint32_t at(int row, int chunk) { return row * 128 + ((chunk ^ (row & 7)) << 4); }
  static __device__ __forceinline__ uint32_t step(uint32_t from, int step) {
    return (from ^ ((step & 3) * 32)) + step / 4 * 2048;
  }
};

/** How products become scores: in log2 units, under a soft cap where there is one. */
struct Scoring {
  float scaleLog2, cap, inverseCap;
};

/** Of a cache of floats: a key's score and a value's weight are as they are. */
struct NoScales {
  static constexpr float kShift = 0;
  __device__ __forceinline__ float counted(float weight, int) const { return weight; }
};

/** Scores of a slice under the soft cap. */
template <int kTiles>
__device__ __forceinline__ void capScores(float (&scores)[kTiles][4], const Scoring& scoring) {
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
    for (float& score : scores[tile]) score = cappedRoughly(score, scoring.cap, scoring.inverseCap);
  }
}

/** −inf where a row does not see a key. */
template <int kTiles, bool kFew>
__device__ __forceinline__ void hideUnseen(float (&scores)[kTiles][4], const Visible& visible,
                                           const RowTokens<kFew>& tokens) {
  const bool all = tokens.seeAll(visible);
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      int row = tile * 8 + threadIdx.x % 4 * 2 + (i & 1), key = threadIdx.x % 32 / 4 + (i >> 1) * 8;
      if (!all && !tokens.sees(visible, row, key)) scores[tile][i] = -INFINITY;
    }
  }
}

/** Scores Sᵀ[16 keys, rows] in log2 units. */
template <DType kType, int kDim, int kTiles, typename SliceRows, typename Query>
__device__ __forceinline__ void score(float (&scores)[kTiles][4], const Query& query, uint32_t keys, float scaleLog2) {
  int lane = threadIdx.x % 32;
  uint32_t from = keys + SliceRows::at(lane & 15, lane >> 4);
  float halves[2][kTiles][4] = {};  // two chains of products: each waits for its own last only
#pragma unroll
  for (int step = 0; step < kDim / 16; ++step) {
    uint32_t k[4], q[kTiles][2];
    ptx::loadMatrices(k, SliceRows::step(from, step));
    query.get(q, step);
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
      ptx::multiplyAdd<kType>(halves[step & 1][tile], k, q[tile][0], q[tile][1]);
    }
  }
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
    for (int i = 0; i < 4; ++i) scores[tile][i] = (halves[0][tile][i] + halves[1][tile][i]) * scaleLog2;
  }
}

/** Of the keys of kSlices slices: scores, then weights and their sum. Weights go up to 2^Scales::kShift. */
template <DType kType, int kDim, int kTiles, int kSlices, typename Scales>
struct Weights {
  float scores[kSlices][kTiles][4];
  Scales scales[kSlices];
  uint32_t rounded[kSlices][kTiles][2];  // transposed

  /** Raises the state to the maximum of these scores and makes weights of them. */
  __device__ __forceinline__ void enter(State<kDim, kTiles>& state) {
    bool grew = false;
    float corrections[kTiles][2];
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
      float base[2];
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        float most = fmaxf(scores[0][tile][r], scores[0][tile][r + 2]);
#pragma unroll
        for (int i = 1; i < kSlices; ++i) most = fmaxf(most, fmaxf(scores[i][tile][r], scores[i][tile][r + 2]));
#pragma unroll
        for (int offset = 4; offset < 32; offset <<= 1) most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, offset));
        most = fmaxf(most, state.maximum[tile][r]);
        base[r] = most == -INFINITY ? 0.0f : most;  // nothing seen yet: every weight below is 0
        corrections[tile][r] = exp2f(state.maximum[tile][r] - base[r]);
        grew |= most != state.maximum[tile][r];
        state.maximum[tile][r] = most;
        base[r] -= Scales::kShift;
      }
#pragma unroll
      for (int i = 0; i < kSlices; ++i) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          float low = exp2f(scores[i][tile][half * 2] - base[0]), high = exp2f(scores[i][tile][half * 2 + 1] - base[1]);
          uint32_t pair = packPair<kType>(low, high);
          rounded[i][tile][half] = ptx::transposeMatrix(pair);
          scores[i][tile][half * 2] = low;
          scores[i][tile][half * 2 + 1] = high;
        }
      }
    }
    if (__any_sync(0xffffffffu, grew)) state.scale(corrections);
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
      for (int i = 0; i < kSlices; ++i) {
#pragma unroll
        for (int r = 0; r < 2; ++r) {
          const float first = scales[i].counted(scores[i][tile][r], 0);
          state.sum[tile][r] += first + scales[i].counted(scores[i][tile][r + 2], 1);
        }
      }
    }
  }
};

/**
 * Adds slices to a state. `keys`: shared addresses of their keys; the values follow, finite where not visible. Slices of
 * a single token enter at once. Those of few enter one after another, though their scores are made at once: how many
 * come together follows from the tiles, these from the longest query of the batch, and bits must not. The soft cap is one
 * branch for all scores: with one a slice the products of a slice would wait for those of the one before.
 */
template <DType kType, int kDim, int kTiles, int kSlices, typename SliceRows, typename Query, bool kFew>
__device__ __forceinline__ void addSlices(State<kDim, kTiles>& state, const Query& query,
                                          const uint32_t (&keys)[kSlices], const Scoring& scoring,
                                          const Visible (&visible)[kSlices], const RowTokens<kFew>& tokens) {
  constexpr int kTogether = kFew ? 1 : kSlices;
  Weights<kType, kDim, kTiles, kTogether, NoScales> weights[kSlices / kTogether];
#pragma unroll
  for (int i = 0; i < kSlices; ++i) {
    auto& scores = weights[i / kTogether].scores[i % kTogether];
    score<kType, kDim, kTiles, SliceRows>(scores, query, keys[i], scoring.scaleLog2);
  }
  if (scoring.cap > 0) {
#pragma unroll
    for (int i = 0; i < kSlices; ++i) capScores<kTiles>(weights[i / kTogether].scores[i % kTogether], scoring);
  }
#pragma unroll
  for (int i = 0; i < kSlices; ++i) {
    hideUnseen<kTiles>(weights[i / kTogether].scores[i % kTogether], visible[i], tokens);
  }
  int lane = threadIdx.x % 32;
  uint32_t offset = SliceRows::kBytes + SliceRows::at((lane & 7) + (lane >> 4) * 8, (lane >> 3) & 1);
#pragma unroll
  for (int i = 0; i < kSlices; ++i) {
    if (i % kTogether == 0) weights[i / kTogether].enter(state);
    const auto& rounded = weights[i / kTogether].rounded[i % kTogether];
#pragma unroll
    for (int m = 0; m < kDim / 16; ++m) {
      uint32_t v[4];
      ptx::loadMatricesTransposed(v, SliceRows::step(keys[i] + offset, m));
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile) {
        ptx::multiplyAdd<kType>(state.values[m][tile], v, rounded[tile][0], rounded[tile][1]);
      }
    }
  }
}

}  // namespace octavo::cuda::split
