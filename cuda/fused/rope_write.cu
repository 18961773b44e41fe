// headNorm, rope and kvWrite in one pass over a step's queries, keys and values: each is read and written once.
//
// A warp takes a head, a block some heads of one token, whose angles its threads share: four of them where tokens are
// few, so that a single token is spread over a dozen multiprocessors, all of them where tokens are many. The arithmetic
// and the roundings between are those of the three kernels, so the bits are as well. Angles, which need nothing of the
// step, are made before the kernel ahead has ended.
#include "cuda/attention/cache_layout.cuh"
#include "cuda/device/alignment.h"
#include "cuda/device/cuda_check.h"
#include "cuda/device/early_launch.h"
#include "cuda/fused/fused.h"
#include "cuda/fused/head.cuh"
#include "cuda/ptx/cluster.cuh"

namespace octavo::cuda {
namespace {

constexpr int kWarps = 4, kThreads = kWarps * 32;
constexpr int64_t kManyTokens = 256;

struct RopeWriteArguments {
  CacheLayout cache;
  RopeWrite step;
  int32_t headsOfBlock;
};

/** Heads of a token in the order of queries, keys, values. */
__device__ __forceinline__ void writeHead(const RopeWriteArguments& a, int64_t token, int index, const float2* angles) {
  const RopeWrite& step = a.step;
  const bool isQuery = index < step.query.heads, isKey = !isQuery && index < step.query.heads + step.key.heads;
  const Heads& from = isQuery ? step.query : isKey ? step.key : step.value;
  const Vector& norm = isQuery ? step.queryNorm : step.keyNorm;
  const int number = isQuery ? index : index - step.query.heads - (isKey ? 0 : step.key.heads);
  const int64_t start = token * from.tokenStride + static_cast<int64_t>(number) * from.dim;
  const int64_t slot = isQuery ? 0 : step.slots[token];
  if (slot < 0) return;
  const int half = from.dim / 2;
  Head head;
  loadHead(head, from, start);
  if ((isQuery || isKey) && norm.data) normHead(head, from, start, norm, step.normEpsilon);
  if (isQuery || isKey) turnHead(head, half, from.dtype, angles);
  if (isQuery) return storeHead(from.data, from.dtype, start, half, head);
  const CacheLayout& cache = a.cache;
  const int64_t place = slot / cache.blockSize * cache.blockStride + slot % cache.blockSize * cache.headDim +
                        (isKey ? cache.keyStart : cache.valueStart) + number * cache.headStride;
  storeHead(cache.data, cache.dtype, place, half, head);
}

__global__ void __launch_bounds__(kThreads) ropeWriteKernel(const __grid_constant__ RopeWriteArguments a) {
  __shared__ float2 angles[kMostDim / 2];
  const int64_t token = blockIdx.x;
  const float position = static_cast<float>(a.step.positions[token]);
  for (int i = static_cast<int>(threadIdx.x); i < a.step.query.dim / 2; i += kThreads) {
    angles[i] = rotationOf(position, a.step.inverseFrequencies[i], a.step.magnitude);
  }
  __syncthreads();
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  ptx::letSuccessorsBegin();
  ptx::waitForPredecessors();
#endif
  const int heads = a.step.query.heads + a.step.key.heads + a.step.value.heads;
  const int first = static_cast<int>(blockIdx.y) * a.headsOfBlock, end = min(first + a.headsOfBlock, heads);
  for (int head = first + static_cast<int>(threadIdx.x) / 32; head < end; head += kWarps) {
    writeHead(a, token, head, angles);
  }
}

}  // namespace

bool canRopeWrite(const KvCacheView& cache, const RopeWrite& step) {
  return isFloat(cache.dtype) && step.query.dim <= kMostDim;
}

void launchRopeWrite(const KvCacheView& cache, int32_t layer, const RopeWrite& step, const DeviceTraits& traits,
                     cudaStream_t stream) {
  const int64_t tokens = step.query.tokens;
  if (tokens == 0) return;
  const int32_t heads = step.query.heads + step.key.heads + step.value.heads;
  const int32_t headsOfBlock = tokens < kManyTokens ? kWarps : heads;
  const RopeWriteArguments a{CacheLayout(cache, layer), step, headsOfBlock};
  const dim3 blocks(static_cast<unsigned>(tokens), static_cast<unsigned>(ceilDivide(heads, headsOfBlock)));
  if (traits.architecture >= 90) {
    launchEarly(ropeWriteKernel, {blocks, dim3(kThreads), 0, stream}, "ropeKvWrite", a);
    return;
  }
  ropeWriteKernel<<<blocks, kThreads, 0, stream>>>(a);
  checkLaunch("ropeKvWrite");
}

}  // namespace octavo::cuda
