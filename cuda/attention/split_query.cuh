// The query rows of an item as the second operand of products: in registers, or in shared memory where they are short.
#pragma once

#include "cuda/attention/split_schedule.cuh"
#include "cuda/attention/split_softmax.cuh"

namespace octavo::cuda::split {

/** First element of a unit's row in query or output: heads of its share, token by token. */
template <bool kFew>
__device__ __forceinline__ int64_t rowStart(const Heads& heads, const Unit& unit, int row) {
  const int later = kFew ? row / unit.share : 0, head = unit.firstHead + row - later * unit.share;
  return (unit.token + later) * heads.tokenStride + static_cast<int64_t>(head) * heads.dim;
}

/** All rows on their way to shared memory, by a warp; zeros after the last. There eight start in different banks. */
template <int kDim, int kTiles, bool kFew>
class QueryCopy {
 public:
  __device__ __forceinline__ QueryCopy(const Arguments& a, const Unit& unit) {
    const uint16_t* from = static_cast<const uint16_t*>(a.query.data);
    const int count = unit.share * unit.tokens;
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int row = place(i) / kChunks, chunk = place(i) % kChunks;
      bits_[i] = make_float4(0, 0, 0, 0);
      if (row >= count) continue;
      bits_[i] = *reinterpret_cast<const float4*>(from + rowStart<kFew>(a.query, unit, row) + chunk * 8);
    }
  }
  __device__ __forceinline__ void store(float4* to) const {
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      if (place(i) < kAll) to[place(i) / kChunks * (kChunks + 1) + place(i) % kChunks] = bits_[i];
    }
  }

 private:
  static constexpr int kChunks = kDim / 8, kAll = kTiles * 8 * kChunks, kEach = (kAll + 31) / 32;
  static __device__ __forceinline__ int place(int i) { return i * 32 + static_cast<int>(threadIdx.x % 32); }
  float4 bits_[kEach];
};

template <int kDim, int kTiles>
struct SharedQuery {
  static constexpr int kRowBytes = kDim * 2 + 16;
  uint32_t mine = 0;

  __device__ __forceinline__ void load(uint32_t rows) {
    int lane = threadIdx.x % 32;
    mine = rows + (lane / 16 * 8 + lane % 8) * kRowBytes + lane / 8 % 2 * 16;
    if (kTiles == 1) mine -= lane / 16 * 8 * kRowBytes;
  }
  __device__ __forceinline__ void get(uint32_t (&operand)[kTiles][2], int step) const {
    if constexpr (kTiles == 1) {
      ptx::loadTwoMatrices(operand[0][0], operand[0][1], mine + step * 32);
    } else {
#pragma unroll
      for (int tile = 0; tile < kTiles; tile += 2) {
        uint32_t four[4];
        ptx::loadMatrices(four, mine + tile * 8 * kRowBytes + step * 32);
        operand[tile][0] = four[0];
        operand[tile][1] = four[1];
        operand[tile + 1][0] = four[2];
        operand[tile + 1][1] = four[3];
      }
    }
  }
};

template <int kDim, int kTiles>
struct RegisterQuery {
  uint32_t values[kDim / 16][kTiles][2];

  __device__ __forceinline__ void load(uint32_t rows) {
    SharedQuery<kDim, kTiles> from;
    from.load(rows);
#pragma unroll
    for (int step = 0; step < kDim / 16; ++step) from.get(values[step], step);
  }
  __device__ __forceinline__ void get(uint32_t (&operand)[kTiles][2], int step) const {
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
      operand[tile][0] = values[step][tile][0];
      operand[tile][1] = values[step][tile][1];
    }
  }
};

}  // namespace octavo::cuda::split
