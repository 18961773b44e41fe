// Stores the keys and values of a step in their slots of the paged cache: floats a block a token, codes a warp a row.
#include "cuda/attention/attention.h"
#include "cuda/attention/cache_store.cuh"
#include "cuda/device/alignment.h"
#include "cuda/device/cuda_check.h"

namespace octavo::cuda {
namespace {

constexpr int kThreads = 128;

template <int kWidth>
__device__ void storeHeads(const CacheLayout& cache, int64_t start, const Heads& heads, int64_t token) {
  int perHead = cache.headDim / kWidth;
  for (int i = threadIdx.x; i < heads.heads * perHead; i += kThreads) {
    int head = i / perHead, column = i % perHead * kWidth;
    float values[kWidth];
    int64_t from = token * heads.tokenStride + static_cast<int64_t>(head) * heads.dim + column;
    loadVector(values, heads.data, heads.dtype, from);
    storeVector(cache.data, cache.dtype, start + static_cast<int64_t>(head) * cache.headStride + column, values);
  }
}

template <int kWidth>
__global__ void __launch_bounds__(kThreads)
kvWriteKernel(CacheLayout cache, Heads key, Heads value, const int64_t* slots) {
  int64_t token = blockIdx.x, slot = slots[token];
  if (slot < 0) return;
  int64_t start = slot / cache.blockSize * cache.blockStride + slot % cache.blockSize * cache.headDim;
  storeHeads<kWidth>(cache, start + cache.keyStart, key, token);
  storeHeads<kWidth>(cache, start + cache.valueStart, value, token);
}

/** Rows are the keys of a token's heads, then its values. */
__global__ void __launch_bounds__(kThreads)
codeWriteKernel(const __grid_constant__ CacheLayout cache, const __grid_constant__ Heads key,
                const __grid_constant__ Heads value, const int64_t* slots, const __grid_constant__ KvScales scales) {
  constexpr int kEach = kMostHeadDim / 32;
  const int rows = 2 * cache.kvHeads, lane = static_cast<int>(threadIdx.x % 32);
  const int64_t index = blockIdx.x * int64_t{kThreads / 32} + threadIdx.x / 32, token = index / rows;
  if (token >= key.tokens || slots[token] < 0) return;
  const int row = static_cast<int>(index % rows), side = row >= cache.kvHeads, head = row - side * cache.kvHeads;
  const Heads& heads = side == 0 ? key : value;
  const int64_t from = token * heads.tokenStride + static_cast<int64_t>(head) * heads.dim;
  const auto indexOf = [lane](int i) { return i * 32 + lane; };
  float values[kEach];
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    values[i] = indexOf(i) < cache.headDim ? loadFloat(heads.data, heads.dtype, from + indexOf(i)) : 0.0f;
  }
  storeCached(cache, CacheSlot(cache, slots[token]), side, head, values, scales, indexOf);
}

}  // namespace

void launchKvWrite(const KvCacheView& cache, int32_t layer, const Heads& key, const Heads& value,
                   const int64_t* slots, const KvScales& scales, cudaStream_t stream) {
  if (key.tokens == 0) return;
  CacheLayout layout(cache, layer);
  auto tokens = static_cast<unsigned>(key.tokens);
  bool chunked = isChunked(key) && isChunked(value) && isChunked(cache.data, cache.headDim, 0);
  if (isCode(cache.dtype)) {
    const auto blocks = static_cast<unsigned>(ceilDivide(key.tokens * 2 * cache.kvHeads, kThreads / 32));
    codeWriteKernel<<<blocks, kThreads, 0, stream>>>(layout, key, value, slots, scales);
  } else if (chunked) {
    kvWriteKernel<kChunk><<<tokens, kThreads, 0, stream>>>(layout, key, value, slots);
  } else {
    kvWriteKernel<1><<<tokens, kThreads, 0, stream>>>(layout, key, value, slots);
  }
  checkLaunch("kvWrite");
}

}  // namespace octavo::cuda
