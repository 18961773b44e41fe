// Strides of one layer in the paged cache [block][layer][k|v][kvHead][token][dim], in elements.
#pragma once

#include <cstdint>

#include "ops/tensor.h"

namespace octavo::cuda {

struct CacheLayout {
  void* data;
  DType dtype;
  int32_t kvHeads, blockSize, headDim;
  int64_t blockStride;           // from a block to the next
  int64_t headStride;            // from a KV head to the next
  int64_t keyStart, valueStart;  // of head 0, token 0 in a block

  CacheLayout(const KvCacheView& cache, int32_t layer)
      : data(cache.data), dtype(cache.dtype), kvHeads(cache.kvHeads), blockSize(cache.blockSize),
        headDim(cache.headDim), headStride(static_cast<int64_t>(cache.blockSize) * cache.headDim) {
    int64_t plane = headStride * cache.kvHeads;  // keys or values of a layer
    blockStride = plane * 2 * cache.layers;
    keyStart = plane * 2 * layer;
    valueStart = keyStart + plane;
  }
};

/** The sequence that owns query token `token`: the last one whose queryStart is not past it. */
__device__ __forceinline__ int sequenceOf(const AttentionBatch& batch, int token) {
  int low = 0, high = batch.sequences - 1;
  while (low < high) {
    int middle = (low + high + 1) / 2;
    if (batch.queryStart[middle] <= token) low = middle;
    else high = middle - 1;
  }
  return low;
}

}  // namespace octavo::cuda
