#include "scripts/bench/native/latent_reference.h"

#include "scripts/bench/native/attention_reference.cuh"

namespace octavo::bench {
namespace {

__device__ double bf16At(const void* data, int64_t index) {
  return __bfloat162float(static_cast<const __nv_bfloat16*>(data)[index]);
}

struct Latents {
  Heads out, query;
  LatentCacheView cache;
  int32_t layer;
  AttentionBatch batch;
  float scale;

  __device__ double key(const SampledRow& row, int at, int d) const {
    const int64_t block = batch.blockTable[int64_t{row.sequence} * batch.tableStride + at / cache.blockSize];
    const int64_t token = (block * cache.layers + layer) * cache.blockSize + at % cache.blockSize;
    return bf16At(cache.data, token * cache.width + d);
  }
  __device__ double value(const SampledRow& row, int at, int d) const { return key(row, at, d); }
};

struct Expanded {
  Heads out, query;
  ExpandedKeys keys;
  AttentionBatch batch;
  float scale;

  __device__ double own(const SampledRow& row, int at, int d) const {
    const Heads& both = keys.keyValue;
    return bf16At(both.data, (keys.keyStart[row.sequence] + at) * both.tokenStride + int64_t{row.head} * both.dim + d);
  }
  __device__ int keyDim() const { return query.dim - static_cast<int>(keys.ropeKey.columns); }
  __device__ double key(const SampledRow& row, int at, int d) const {
    if (d < keyDim()) return own(row, at, d);
    return bf16At(keys.ropeKey.data, (keys.keyStart[row.sequence] + at) * keys.ropeKey.stride + d - keyDim());
  }
  __device__ double value(const SampledRow& row, int at, int d) const { return own(row, at, keyDim() + d); }
};

}  // namespace

double latentError(const LatentCase& of, const LatentBatch& batch, int32_t layer, cudaStream_t stream) {
  if (of.isPrompt) {
    const cuda::ExpandedAttention a = batch.prefill();
    return referenceError(Expanded{a.out, a.query, a.keys, a.batch, a.scale}, batch.queryStart(), batch.out(), stream);
  }
  const cuda::LatentAttention a = batch.decode(layer);
  return referenceError(Latents{a.out, a.query, a.cache, a.layer, a.batch, a.scale}, batch.queryStart(), batch.out(),
                        stream);
}

}  // namespace octavo::bench
