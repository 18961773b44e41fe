// Stores the keys and values of a step in their slots of the paged cache: a block a token.
#include "cuda/attention/attention.h"
#include "cuda/attention/cache_layout.cuh"
#include "cuda/device/alignment.h"
#include "cuda/device/cuda_check.h"
#include "cuda/device/floats.cuh"

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

}  // namespace

void launchKvWrite(const KvCacheView& cache, int32_t layer, const Heads& key, const Heads& value,
                   const int64_t* slots, cudaStream_t stream) {
  if (key.tokens == 0) return;
  CacheLayout layout(cache, layer);
  auto tokens = static_cast<unsigned>(key.tokens);
  bool chunked = isChunked(key) && isChunked(value) && isChunked(cache.data, cache.headDim, 0);
  if (chunked) kvWriteKernel<kChunk><<<tokens, kThreads, 0, stream>>>(layout, key, value, slots);
  else kvWriteKernel<1><<<tokens, kThreads, 0, stream>>>(layout, key, value, slots);
  checkLaunch("kvWrite");
}

}  // namespace octavo::cuda
