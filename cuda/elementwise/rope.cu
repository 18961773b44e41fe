// Rotary position embedding (Su et al. 2021), half-split pairs. A block takes one token: the angles are computed once and
// shared by all heads of q and k.
#include "cuda/device/cuda_check.h"
#include "cuda/device/floats.cuh"
#include "cuda/elementwise/elementwise.h"
#include "cuda/elementwise/rotation.cuh"

namespace octavo::cuda {
namespace {

constexpr int kThreads = 128;

__device__ void rotate(const Heads& heads, int64_t token, const float2* angles) {
  int half = heads.dim / 2;
  for (int i = threadIdx.x; i < heads.heads * half; i += kThreads) {
    int pair = i % half;
    int64_t low = token * heads.tokenStride + static_cast<int64_t>(i / half) * heads.dim + pair;
    float2 turned = rotated(loadFloat(heads.data, heads.dtype, low), loadFloat(heads.data, heads.dtype, low + half),
                            angles[pair]);
    storeFloat(heads.data, heads.dtype, low, turned.x);
    storeFloat(heads.data, heads.dtype, low + half, turned.y);
  }
}

__global__ void __launch_bounds__(kThreads)
ropeKernel(Heads query, Heads key, const int32_t* positions, const float* inverseFrequencies, float magnitude) {
  extern __shared__ float2 angles[];  // [dim / 2] cos and sin, times magnitude
  int64_t token = blockIdx.x;
  float position = static_cast<float>(positions[token]);
  for (int i = threadIdx.x; i < query.dim / 2; i += kThreads) {
    angles[i] = rotationOf(position, inverseFrequencies[i], magnitude);
  }
  __syncthreads();
  rotate(query, token, angles);
  rotate(key, token, angles);
}

}  // namespace

void launchRope(const Heads& query, const Heads& key, const int32_t* positions, const float* inverseFrequencies,
                float magnitude, cudaStream_t stream) {
  if (query.tokens == 0) return;
  size_t shared = sizeof(float2) * static_cast<size_t>(query.dim / 2);
  ropeKernel<<<static_cast<unsigned>(query.tokens), kThreads, shared, stream>>>(query, key, positions,
                                                                               inverseFrequencies, magnitude);
  checkLaunch("rope");
}

}  // namespace octavo::cuda
