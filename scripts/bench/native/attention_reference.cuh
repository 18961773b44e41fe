// Attention in fp64 of some rows, by the plainest way: all scores, their softmax, the weighted sum.
//
// Source: `query` and `out` (Heads of bf16), `batch`, `scale`, and key(row, at, d) and value(row, at, d), an element of
// the key and of the value of token `at` of the row's sequence, for the row's head.
#pragma once

#include <cuda_bf16.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "ops/tensor.h"
#include "scripts/bench/native/device_array.h"

namespace octavo::bench {

struct SampledRow {
  int32_t sequence, token, head;
};

constexpr int kReferenceSamples = 64;
constexpr int kReferenceThreads = 256;

template <typename Combine>
__device__ double reduceBlock(double value, Combine combine) {
  __shared__ double values[kReferenceThreads];
  values[threadIdx.x] = value;
  for (int half = kReferenceThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) values[threadIdx.x] = combine(values[threadIdx.x], values[threadIdx.x + half]);
  }
  __syncthreads();
  const double result = values[0];
  __syncthreads();
  return result;
}

template <typename Source>
__device__ double scoreOf(const Source& source, const SampledRow& row, int at) {
  const auto* query = static_cast<const __nv_bfloat16*>(source.query.data) + row.token * source.query.tokenStride +
                      int64_t{row.head} * source.query.dim;
  double sum = 0;
  for (int d = 0; d < source.query.dim; ++d) sum += double{__bfloat162float(query[d])} * source.key(row, at, d);
  return sum * source.scale;
}

/** weights: [rows, maxContextLength], out: [rows, out.dim]. */
template <typename Source>
__global__ void attentionReferenceKernel(Source source, const SampledRow* rows, double* weights, double* out) {
  const SampledRow row = rows[blockIdx.x];
  const int fromEnd = source.batch.queryStart[row.sequence + 1] - row.token;
  const int visible = source.batch.contextLength[row.sequence] - fromEnd + 1;
  double* const weight = weights + int64_t{blockIdx.x} * source.batch.maxContextLength;
  double largest = -1e300, sum = 0;
  for (int at = threadIdx.x; at < visible; at += kReferenceThreads) {
    weight[at] = scoreOf(source, row, at);
    largest = fmax(largest, weight[at]);
  }
  largest = reduceBlock(largest, [](double a, double b) { return fmax(a, b); });
  for (int at = threadIdx.x; at < visible; at += kReferenceThreads) {
    weight[at] = exp(weight[at] - largest);
    sum += weight[at];
  }
  sum = reduceBlock(sum, [](double a, double b) { return a + b; });  // also shows every thread the weights of all
  for (int d = threadIdx.x; d < source.out.dim; d += kReferenceThreads) {
    double total = 0;
    for (int at = 0; at < visible; ++at) total += weight[at] * source.value(row, at, d);
    out[int64_t{blockIdx.x} * source.out.dim + d] = total / sum;
  }
}

/** Sequences and heads in turn; in a sequence its first, its last and tokens between. */
std::vector<SampledRow> sampledRows(const std::vector<int32_t>& queryStart, int32_t heads);

/** ‖found − reference‖ / ‖reference‖ of a row of bf16. */
double rowError(const std::vector<uint16_t>& found, const double* reference);

/** The largest error of the sampled rows in `out`; NaN where one was not written. */
template <typename Source>
double referenceError(const Source& source, const std::vector<int32_t>& queryStart, const DeviceArray<uint16_t>& out,
                      cudaStream_t stream) {
  const std::vector<SampledRow> rows = sampledRows(queryStart, source.query.heads);
  const DeviceArray<SampledRow> deviceRows(rows);
  const DeviceArray<double> weights(size_t{1} * kReferenceSamples * source.batch.maxContextLength);
  const DeviceArray<double> expected(size_t{1} * kReferenceSamples * source.out.dim);
  attentionReferenceKernel<<<kReferenceSamples, kReferenceThreads, 0, stream>>>(source, deviceRows.data(),
                                                                                weights.data(), expected.data());
  cuda::checkLaunch("attentionReference");
  cuda::check(cudaStreamSynchronize(stream), "the fp64 reference of attention");
  const std::vector<double> reference = expected.copy(0, expected.count());
  const int64_t dim = source.out.dim;
  double worst = 0;
  for (int i = 0; i < kReferenceSamples; ++i) {
    const int64_t first = rows[i].token * source.out.tokenStride + rows[i].head * dim;
    const std::vector<uint16_t> found = out.copy(static_cast<size_t>(first), static_cast<size_t>(dim));
    const double error = rowError(found, reference.data() + i * dim);
    if (std::isnan(error)) return error;
    worst = std::max(worst, error);
  }
  return worst;
}

}  // namespace octavo::bench
