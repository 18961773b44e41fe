#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include <cuda_bf16.h>

#include "scripts/bench/native/attention_reference.h"

namespace octavo::bench {
namespace {

constexpr int kSamples = 64;
constexpr int kThreads = 256;

struct Row {
  int32_t sequence, token, head;
};

struct Combine {
  bool takesLargest;
  __device__ double operator()(double a, double b) const { return takesLargest ? fmax(a, b) : a + b; }
};

__device__ double reduceBlock(double value, Combine combine) {
  __shared__ double values[kThreads];
  values[threadIdx.x] = value;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) values[threadIdx.x] = combine(values[threadIdx.x], values[threadIdx.x + half]);
  }
  __syncthreads();
  const double result = values[0];
  __syncthreads();
  return result;
}

/** The key (plane 0) or value (plane 1) of token `at` of the row's sequence, for the row's head. */
__device__ const __nv_bfloat16* cached(const cuda::PagedAttention& a, const Row& row, int at, int plane) {
  const KvCacheView& cache = a.cache;
  const int64_t block = a.batch.blockTable[int64_t{row.sequence} * a.batch.tableStride + at / cache.blockSize];
  const int kvHead = row.head / (a.query.heads / cache.kvHeads);
  const int64_t head = ((block * cache.layers + a.layer) * 2 + plane) * cache.kvHeads + kvHead;
  const int64_t token = head * cache.blockSize + at % cache.blockSize;
  return static_cast<const __nv_bfloat16*>(cache.data) + token * cache.headDim;
}

__device__ double score(const cuda::PagedAttention& a, const Row& row, int at) {
  const auto* query = static_cast<const __nv_bfloat16*>(a.query.data) + row.token * a.query.tokenStride +
                      int64_t{row.head} * a.query.dim;
  const __nv_bfloat16* key = cached(a, row, at, 0);
  double sum = 0;
  for (int d = 0; d < a.query.dim; ++d) sum += double{__bfloat162float(query[d])} * __bfloat162float(key[d]);
  return sum * a.scale;
}

/** weights: [rows, maxContextLength], out: [rows, dim]. */
__global__ void attentionReferenceKernel(cuda::PagedAttention a, const Row* rows, double* weights, double* out) {
  const Row row = rows[blockIdx.x];
  const int fromEnd = a.batch.queryStart[row.sequence + 1] - row.token;
  const int visible = a.batch.contextLength[row.sequence] - fromEnd + 1;
  double* const weight = weights + int64_t{blockIdx.x} * a.batch.maxContextLength;
  double largest = -1e300, sum = 0;
  for (int at = threadIdx.x; at < visible; at += kThreads) {
    weight[at] = score(a, row, at);
    largest = fmax(largest, weight[at]);
  }
  largest = reduceBlock(largest, {true});
  for (int at = threadIdx.x; at < visible; at += kThreads) {
    weight[at] = exp(weight[at] - largest);
    sum += weight[at];
  }
  sum = reduceBlock(sum, {false});  // its barriers also show every thread the weights of all
  for (int d = threadIdx.x; d < a.query.dim; d += kThreads) {
    double total = 0;
    for (int at = 0; at < visible; ++at) total += weight[at] * double{__bfloat162float(cached(a, row, at, 1)[d])};
    out[int64_t{blockIdx.x} * a.query.dim + d] = total / sum;
  }
}

/** Sequences and heads in turn; in a sequence its first, its last and tokens between. */
std::vector<Row> sampledRows(const AttentionCase& of, const std::vector<int32_t>& queryStart) {
  std::vector<Row> rows;
  for (int i = 0; i < kSamples; ++i) {
    const auto sequence = static_cast<int32_t>(int64_t{i} * of.sequences() / kSamples);
    const int32_t length = of.query[sequence], part = i % 16;
    const auto within = static_cast<int32_t>(int64_t{length - 1} * part / 15);
    rows.push_back({sequence, queryStart[sequence] + within, i * 7 % of.heads});
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

}  // namespace

double attentionError(const AttentionCase& of, const PagedBatch& batch, int32_t layer, cudaStream_t stream) {
  const std::vector<Row> rows = sampledRows(of, batch.queryStart());
  const cuda::PagedAttention attention = batch.attention(layer);
  const DeviceArray<Row> deviceRows(rows);
  const DeviceArray<double> weights(size_t{1} * kSamples * attention.batch.maxContextLength);
  const DeviceArray<double> out(size_t{1} * kSamples * of.headDim);
  attentionReferenceKernel<<<kSamples, kThreads, 0, stream>>>(attention, deviceRows.data(), weights.data(), out.data());
  cuda::checkLaunch("attentionReference");
  cuda::check(cudaStreamSynchronize(stream), "the fp64 reference of attention");
  const std::vector<double> reference = out.copy(0, out.count());
  double worst = 0;
  for (int i = 0; i < kSamples; ++i) {
    const size_t first = (size_t{1} * rows[i].token * of.heads + rows[i].head) * of.headDim;
    const double error = rowError(batch.out().copy(first, of.headDim), reference.data() + int64_t{i} * of.headDim);
    if (std::isnan(error)) return error;
    worst = std::max(worst, error);
  }
  return worst;
}

}  // namespace octavo::bench
