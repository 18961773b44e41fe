// Head norm, rotation and the write to the cache in one pass: a warp a head of a token, which holds the head's pairs in
// registers. Queries are read and written once; keys and values read once, and what is stored is their cache row alone:
// a token of 32 query and 8 KV heads of 128 in bf16 moves 24 KiB, where one op after the other moves 46. The block's
// warps have the same token, whose angles they share. Every step rounds as the op of its own does.
#include "cuda/attention/attention.h"
#include "cuda/attention/cache_store.cuh"
#include "cuda/device/alignment.h"
#include "cuda/device/cuda_check.h"
#include "cuda/device/reduce.cuh"
#include "cuda/elementwise/norm.cuh"
#include "cuda/elementwise/rotation.cuh"

namespace octavo::cuda {
namespace {

constexpr int kWarps = 8, kThreads = kWarps * 32;
constexpr int kPairs = kMostHeadDim / 2 / 32;  // of a lane

/** A head's elements, pair by pair: element `index` and the one half a head on; 0 past the last pair. */
struct HeadRow {
  const Heads& heads;
  int64_t start;
  int half, lane;
  float values[2 * kPairs];

  __device__ __forceinline__ HeadRow(const Heads& heads, int64_t token, int head)
      : heads(heads), start(token * heads.tokenStride + static_cast<int64_t>(head) * heads.dim), half(heads.dim / 2),
        lane(static_cast<int>(threadIdx.x % 32)) {}

  /** Of values[i]; past the head where the lane has no such pair. */
  __device__ __forceinline__ int indexOf(int i) const {
    const int pair = i / 2 * 32 + lane;
    return pair < half ? pair + i % 2 * half : heads.dim;
  }
  __device__ __forceinline__ void load() {
#pragma unroll
    for (int i = 0; i < 2 * kPairs; ++i) {
      values[i] = indexOf(i) < heads.dim ? loadFloat(heads.data, heads.dtype, start + indexOf(i)) : 0.0f;
    }
  }
  /** The sum of squares goes over the elements in the order of headNorm, which is not that of pairs. */
  __device__ __forceinline__ void normalize(const Vector& weight, float epsilon) {
    float squares = 0;
    for (int i = lane; i < heads.dim; i += 32) {
      const float value = loadFloat(heads.data, heads.dtype, start + i);
      squares = __fmaf_rn(value, value, squares);
    }
    const float factor = inverseRms(warpSum(squares), heads.dim, epsilon);
#pragma unroll
    for (int i = 0; i < 2 * kPairs; ++i) {
      if (indexOf(i) >= heads.dim) continue;
      const float scaled = normalized(values[i], factor, loadFloat(weight.data, weight.dtype, indexOf(i)));
      values[i] = roundTo(heads.dtype, scaled);
    }
  }
  __device__ __forceinline__ void rotate(const float2* angles) {
#pragma unroll
    for (int i = 0; i < kPairs; ++i) {
      const int pair = i * 32 + lane;
      if (pair >= half) continue;
      const float2 turned = rotated(values[2 * i], values[2 * i + 1], angles[pair]);
      values[2 * i] = roundTo(heads.dtype, turned.x);
      values[2 * i + 1] = roundTo(heads.dtype, turned.y);
    }
  }
  __device__ __forceinline__ void store() const {
#pragma unroll
    for (int i = 0; i < 2 * kPairs; ++i) {
      if (indexOf(i) < heads.dim) storeFloat(heads.data, heads.dtype, start + indexOf(i), values[i]);
    }
  }
};

__global__ void __launch_bounds__(kThreads)
ropeWriteKernel(const __grid_constant__ CacheLayout cache, const __grid_constant__ RopeWrite step, int shares) {
  __shared__ float2 angles[kMostHeadDim / 2];
  const int64_t token = blockIdx.x / shares;
  for (int i = threadIdx.x; i < step.query.dim / 2; i += kThreads) {
    angles[i] = rotationOf(static_cast<float>(step.positions[token]), step.inverseFrequencies[i], step.magnitude);
  }
  __syncthreads();
  const int row = static_cast<int>(blockIdx.x % shares) * kWarps + static_cast<int>(threadIdx.x / 32);
  const int keyHead = row - step.query.heads, valueHead = keyHead - step.key.heads;
  if (valueHead >= step.value.heads) return;
  const bool isQuery = keyHead < 0, isValue = valueHead >= 0;
  const int64_t slot = isQuery ? 0 : step.slots[token];
  if (slot < 0) return;
  const int head = isQuery ? row : isValue ? valueHead : keyHead;
  HeadRow values(isQuery ? step.query : isValue ? step.value : step.key, token, head);
  values.load();
  if (!isValue) {
    const Vector& norm = isQuery ? step.queryNorm : step.keyNorm;
    if (norm.data != nullptr) values.normalize(norm, step.normEpsilon);
    values.rotate(angles);
  }
  if (isQuery) {
    values.store();
  } else {
    storeCached(cache, CacheSlot(cache, slot), isValue, head, values.values, step.scales,
                [&](int i) { return values.indexOf(i); });
  }
}

}  // namespace

void launchRopeKvWrite(const KvCacheView& cache, int32_t layer, const RopeWrite& step, cudaStream_t stream) {
  if (step.query.tokens == 0) return;
  const int64_t rows = int64_t{step.query.heads} + step.key.heads + step.value.heads, shares = ceilDivide(rows, kWarps);
  const auto blocks = static_cast<unsigned>(step.query.tokens * shares);
  ropeWriteKernel<<<blocks, kThreads, 0, stream>>>(CacheLayout(cache, layer), step, static_cast<int>(shares));
  checkLaunch("ropeKvWrite");
}

}  // namespace octavo::cuda
