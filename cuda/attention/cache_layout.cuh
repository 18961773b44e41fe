// Strides of one layer in the paged cache [block][layer][k|v][kvHead][token][dim], in elements, and where scales lie.
#pragma once

#include <cstdint>

#include "ops/tensor.h"

namespace octavo::cuda {

struct CacheLayout {
  void* data;
  DType dtype;
  KvScaling scaling;
  int32_t kvHeads, blockSize, headDim;
  int64_t blockStride;           // from a block to the next
  int64_t headStride;            // from a KV head to the next
  int64_t keyStart, valueStart;  // of head 0, token 0 in a block
  int64_t scaleStart;            // of the scales of the layer's keys in a block, in bytes; those of values follow

  CacheLayout(const KvCacheView& cache, int32_t layer)
      : data(cache.data), dtype(cache.dtype), scaling(cache.scaling), kvHeads(cache.kvHeads),
        blockSize(cache.blockSize), headDim(cache.headDim),
        blockStride(static_cast<int64_t>(cache.blockBytes() / dtypeBytes(cache.dtype))),
        headStride(static_cast<int64_t>(cache.blockSize) * cache.headDim) {
    int64_t plane = headStride * cache.kvHeads;  // keys or values of a layer
    keyStart = plane * 2 * layer;
    valueStart = keyStart + plane;
    scaleStart = static_cast<int64_t>(cache.codeBytes()) +
                 int64_t{layer} * 2 * cache.kvHeads * scalesAHead() * static_cast<int64_t>(sizeof(float));
  }

  __host__ __device__ int scalesAHead() const { return scaling == KvScaling::kToken ? blockSize : 1; }

  /** Whether scales lie in the block: per head or token. Of codes alone, whose elements are bytes. */
  __device__ __forceinline__ bool hasScales() const {
    return scaling == KvScaling::kHead || scaling == KvScaling::kToken;
  }
  /** The scales of a head's keys (side 0) or values (1) in a block: one, or one a token. */
  __device__ __forceinline__ float* scales(int64_t block, int side, int head) const {
    char* const first = static_cast<char*>(data) + block * blockStride + scaleStart;
    return reinterpret_cast<float*>(first) + static_cast<int64_t>(side * kvHeads + head) * scalesAHead();
  }
  /** Of `token` in the block. */
  __device__ __forceinline__ float* scale(int64_t block, int side, int head, int token) const {
    return scales(block, side, head) + (scaling == KvScaling::kToken ? token : 0);
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
