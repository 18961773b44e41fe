#include <cuda_bf16.h>

#include "cuda/device/cuda_check.h"
#include "scripts/bench/native/values.h"

namespace octavo::bench {
namespace {

// The finalizer of MurmurHash3 (Austin Appleby, public domain).
__device__ uint32_t mixBits(uint32_t bits) {
  bits = (bits ^ (bits >> 16)) * 0x85ebca6bu;
  bits = (bits ^ (bits >> 13)) * 0xc2b2ae35u;
  return bits ^ (bits >> 16);
}

__global__ void fillUniformKernel(__nv_bfloat16* values, size_t count, uint32_t seed) {
  constexpr float kWidth = 3.4641016151377544f;  // 2√3
  const size_t stride = size_t{gridDim.x} * blockDim.x;
  for (size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride) {
    const uint32_t bits = mixBits(static_cast<uint32_t>(i) * 2654435761u + static_cast<uint32_t>(i >> 32) + seed);
    values[i] = __float2bfloat16((static_cast<float>(bits >> 8) * 0x1p-24f - 0.5f) * kWidth);
  }
}

}  // namespace

void fillUniform(uint16_t* values, size_t count, uint32_t seed, cudaStream_t stream) {
  fillUniformKernel<<<2048, 256, 0, stream>>>(reinterpret_cast<__nv_bfloat16*>(values), count, seed);
  cuda::checkLaunch("fillUniform");
}

}  // namespace octavo::bench
