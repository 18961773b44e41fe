#include <cuda_bf16.h>
#include <cuda_fp8.h>

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

constexpr float kWidth = 3.4641016151377544f;  // 2√3

__device__ float uniform(uint64_t i, uint32_t seed) {
  const uint32_t bits = mixBits(static_cast<uint32_t>(i) * 2654435761u + static_cast<uint32_t>(i >> 32) + seed);
  return (static_cast<float>(bits >> 8) * 0x1p-24f - 0.5f) * kWidth;
}

__global__ void fillUniformKernel(__nv_bfloat16* values, size_t count, uint32_t seed) {
  const size_t stride = size_t{gridDim.x} * blockDim.x;
  for (size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride) {
    values[i] = __float2bfloat16(uniform(i, seed));
  }
}

/** Codes of blocks, then their scales: √3 / 127 where the codes are int8. */
__global__ void fillCodesKernel(KvCacheView cache, size_t blockBytes, size_t codeBytes, uint32_t seed) {
  const size_t stride = size_t{gridDim.x} * blockDim.x;
  uint8_t* const bytes = static_cast<uint8_t*>(cache.data);
  const bool isInt8 = cache.dtype == DType::kI8;
  for (size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < cache.blocks * blockBytes; i += stride) {
    const size_t at = i % blockBytes;
    const float value = uniform(i, seed);
    if (at >= codeBytes) {
      if (at % 4 == 0) *reinterpret_cast<float*>(bytes + i) = kWidth / 2 / 127;
    } else if (isInt8) {
      bytes[i] = static_cast<uint8_t>(__float2int_rn(value * (254 / kWidth)));
    } else {
      bytes[i] = __nv_cvt_float_to_fp8(value, __NV_SATFINITE, __NV_E4M3);
    }
  }
}

}  // namespace

void fillUniform(uint16_t* values, size_t count, uint32_t seed, cudaStream_t stream) {
  fillUniformKernel<<<2048, 256, 0, stream>>>(reinterpret_cast<__nv_bfloat16*>(values), count, seed);
  cuda::checkLaunch("fillUniform");
}

void fillCache(const KvCacheView& cache, uint32_t seed, cudaStream_t stream) {
  if (!isCode(cache.dtype)) {
    const size_t count = static_cast<size_t>(cache.blocks) * cache.blockBytes() / sizeof(uint16_t);
    return fillUniform(static_cast<uint16_t*>(cache.data), count, seed, stream);
  }
  fillCodesKernel<<<2048, 256, 0, stream>>>(cache, cache.blockBytes(), cache.codeBytes(), seed);
  cuda::checkLaunch("fillCache");
}

}  // namespace octavo::bench
