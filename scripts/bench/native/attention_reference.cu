#include "scripts/bench/native/attention_reference.cuh"

#include <cuda_fp8.h>

#include "base/half.h"
#include "cuda/attention/cache_layout.cuh"
#include "scripts/bench/native/attention_reference.h"

namespace octavo::bench {
namespace {

struct Paged {
  Heads out, query;
  cuda::CacheLayout cache;
  AttentionBatch batch;
  float scale;

  __device__ double element(const SampledRow& row, int at, int d, int plane) const {
    const int64_t block = batch.blockTable[int64_t{row.sequence} * batch.tableStride + at / cache.blockSize];
    const int kvHead = row.head / (query.heads / cache.kvHeads);
    const int token = at % cache.blockSize;
    const int64_t index = block * cache.blockStride + (plane == 0 ? cache.keyStart : cache.valueStart) +
                          kvHead * cache.headStride + int64_t{token} * cache.headDim + d;
    if (cache.dtype == DType::kBF16) return __bfloat162float(static_cast<const __nv_bfloat16*>(cache.data)[index]);
    if (cache.dtype == DType::kE4M3) return static_cast<float>(static_cast<const __nv_fp8_e4m3*>(cache.data)[index]);
    return double{*cache.scale(block, plane, kvHead, token)} * static_cast<const int8_t*>(cache.data)[index];
  }
  __device__ double key(const SampledRow& row, int at, int d) const { return element(row, at, d, 0); }
  __device__ double value(const SampledRow& row, int at, int d) const { return element(row, at, d, 1); }
};

}  // namespace

std::vector<SampledRow> sampledRows(const std::vector<int32_t>& queryStart, int32_t heads) {
  const auto sequences = static_cast<int64_t>(queryStart.size()) - 1;
  std::vector<SampledRow> rows;
  for (int i = 0; i < kReferenceSamples; ++i) {
    const auto sequence = static_cast<int32_t>(i * sequences / kReferenceSamples);
    const int32_t first = queryStart[sequence], length = queryStart[sequence + 1] - first, part = i % 16;
    rows.push_back({sequence, first + static_cast<int32_t>(int64_t{length - 1} * part / 15), i * 7 % heads});
  }
  return rows;
}

double rowError(const std::vector<uint16_t>& found, const double* reference) {
  double difference = 0, norm = 0;
  for (size_t d = 0; d < found.size(); ++d) {
    const double error = bf16ToFloat(found[d]) - reference[d];
    difference += error * error;
    norm += reference[d] * reference[d];
  }
  return std::sqrt(difference / norm);
}

double attentionError(const AttentionCase&, const PagedBatch& batch, int32_t layer, cudaStream_t stream) {
  const cuda::PagedAttention a = batch.attention(layer);
  const Paged source{a.out, a.query, cuda::CacheLayout(a.cache, a.layer), a.batch, a.scale};
  return referenceError(source, batch.queryStart(), batch.out(), stream);
}

}  // namespace octavo::bench
