// Latent attention in its plainest parallel form: a block a query token and head, a warp every fourth key. For dtypes,
// dims and cards that the other kernels are not made for, and for reading beside them. Every head reads the keys anew.
#include "cuda/attention/cache_layout.cuh"
#include "cuda/attention/mla.h"
#include "cuda/device/cuda_check.h"
#include "cuda/device/floats.cuh"
#include "cuda/device/reduce.cuh"

namespace octavo::cuda {
namespace {

constexpr int kWarps = 4;
constexpr int kValues = kMaxLatentWidth / 32;  // of a value, a lane at most
constexpr float kLog2E = 1.4426950408889634f;

/** Where keys and values lie: elements of a token's key and value for a head. */
struct PagedLatents {
  LatentCacheView cache;
  int32_t layer;
  const int32_t* table;
  int32_t tableStride;

  __device__ __forceinline__ int64_t row(int sequence, int token) const {
    int64_t block = table[static_cast<int64_t>(sequence) * tableStride + token / cache.blockSize];
    return ((block * cache.layers + layer) * cache.blockSize + token % cache.blockSize) * cache.width;
  }
  __device__ __forceinline__ float key(int64_t row, int, int d) const {
    return loadFloat(cache.data, cache.dtype, row + d);
  }
  __device__ __forceinline__ float value(int64_t row, int, int d) const { return key(row, 0, d); }
};

struct Expanded {
  ExpandedKeys keys;
  int32_t keyDim;  // the part that is a head's own

  __device__ __forceinline__ int64_t row(int sequence, int token) const { return keys.keyStart[sequence] + token; }
  __device__ __forceinline__ float key(int64_t row, int head, int d) const {
    const Matrix& rope = keys.ropeKey;
    if (d >= keyDim) return loadFloat(rope.data, rope.dtype, row * rope.stride + d - keyDim);
    return value(row, head, d - keyDim);
  }
  __device__ __forceinline__ float value(int64_t row, int head, int d) const {
    const Heads& both = keys.keyValue;
    int64_t at = row * both.tokenStride + static_cast<int64_t>(head) * both.dim + keyDim + d;
    return loadFloat(both.data, both.dtype, at);
  }
};

/** What each warp has of a row. */
struct Parts {
  float maximum[kWarps], sum[kWarps], values[kWarps][kMaxLatentWidth];
};

template <typename Source>
__global__ void __launch_bounds__(kWarps * 32)
plainKernel(Heads out, Heads query, Source source, AttentionBatch batch, float scaleLog2, int above) {
  __shared__ float queries[kMaxLatentWidth];
  __shared__ Parts parts;
  int token = blockIdx.x, head = blockIdx.y, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  int sequence = sequenceOf(batch, token), end = batch.queryStart[sequence + 1];
  if (end - batch.queryStart[sequence] <= above) return;
  int keys = batch.contextLength[sequence] - (end - token) + 1;
  int64_t from = token * query.tokenStride + static_cast<int64_t>(head) * query.dim;
  for (int d = threadIdx.x; d < query.dim; d += kWarps * 32) queries[d] = loadFloat(query.data, query.dtype, from + d);
  __syncthreads();
  float maximum = -INFINITY, sum = 0, values[kValues] = {};
  for (int j = warp; j < keys; j += kWarps) {
    int64_t row = source.row(sequence, j);
    float dot = 0;
    for (int d = lane; d < query.dim; d += 32) dot = fmaf(queries[d], source.key(row, head, d), dot);
    float score = warpSum(dot) * scaleLog2, most = fmaxf(maximum, score);
    float base = most == -INFINITY ? 0.0f : most;
    float correction = exp2f(maximum - base), weight = exp2f(score - base);
    maximum = most;
    sum = fmaf(sum, correction, weight);
#pragma unroll
    for (int i = 0; i < kValues; ++i) {
      int d = i * 32 + lane;
      if (d < out.dim) values[i] = fmaf(values[i], correction, weight * source.value(row, head, d));
    }
  }
  parts.maximum[warp] = maximum;
  parts.sum[warp] = sum;
#pragma unroll
  for (int i = 0; i < kValues; ++i) {
    if (i * 32 + lane < out.dim) parts.values[warp][i * 32 + lane] = values[i];
  }
  __syncthreads();
  float most = fmaxf(fmaxf(parts.maximum[0], parts.maximum[1]), fmaxf(parts.maximum[2], parts.maximum[3]));
  float base = most == -INFINITY ? 0.0f : most, total = 0, weights[kWarps];
  for (int w = 0; w < kWarps; ++w) {
    weights[w] = exp2f(parts.maximum[w] - base);
    total = fmaf(parts.sum[w], weights[w], total);
  }
  int64_t to = token * out.tokenStride + static_cast<int64_t>(head) * out.dim;
  for (int d = threadIdx.x; d < out.dim; d += kWarps * 32) {
    float value = 0;
    for (int w = 0; w < kWarps; ++w) value = fmaf(parts.values[w][d], weights[w], value);
    storeFloat(out.data, out.dtype, to + d, value / total);
  }
}

template <typename Source>
void launch(const Heads& out, const Heads& query, const Source& source, const AttentionBatch& batch, float scale,
            int32_t above, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(batch.tokens), static_cast<unsigned>(query.heads));
  plainKernel<<<grid, kWarps * 32, 0, stream>>>(out, query, source, batch, scale * kLog2E, above);
  checkLaunch("plainLatentAttention");
}

}  // namespace

void launchPlainLatentAttention(const LatentAttention& a, int32_t above, cudaStream_t stream) {
  const PagedLatents source{a.cache, a.layer, a.batch.blockTable, a.batch.tableStride};
  launch(a.out, a.query, source, a.batch, a.scale, above, stream);
}

void launchPlainExpandedAttention(const ExpandedAttention& a, cudaStream_t stream) {
  const Expanded source{a.keys, static_cast<int32_t>(a.query.dim - a.keys.ropeKey.columns)};
  launch(a.out, a.query, source, a.batch, a.scale, 0, stream);
}

}  // namespace octavo::cuda
