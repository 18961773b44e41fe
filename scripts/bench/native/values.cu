#include <cuda_bf16.h>
#include <cuda_fp8.h>

#include "cuda/device/cuda_check.h"
#include "cuda/device/floats.cuh"
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

/** 0x7f and 0xff are the two of e4m3 that are no numbers. */
__global__ void fillWeightCodesKernel(uint32_t* words, size_t count, bool isE4m3, uint32_t seed) {
  const size_t stride = size_t{gridDim.x} * blockDim.x;
  for (size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride) {
    const uint32_t word = mixBits(static_cast<uint32_t>(i) * 2654435761u + static_cast<uint32_t>(i >> 32) + seed);
    const uint32_t isNan = __vcmpeq4(word & 0x7f7f7f7fu, 0x7f7f7f7fu);
    words[i] = isE4m3 ? word ^ (isNan & 0x01010101u) : word;
  }
}

__global__ void fillScalesKernel(void* scales, size_t count, DType type, uint32_t seed) {
  const size_t stride = size_t{gridDim.x} * blockDim.x;
  for (size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride) {
    cuda::storeFloat(scales, type, static_cast<int64_t>(i), (1.5f + uniform(i, seed) / kWidth) / 128);
  }
}

}  // namespace

void fillWeightCodes(uint8_t* codes, size_t count, CodeType type, uint32_t seed, cudaStream_t stream) {
  const bool isE4m3 = type == CodeType::kE4M3;
  fillWeightCodesKernel<<<2048, 256, 0, stream>>>(reinterpret_cast<uint32_t*>(codes), count / 4, isE4m3, seed);
  cuda::checkLaunch("fillWeightCodes");
}

void fillScales(void* scales, size_t count, DType type, uint32_t seed, cudaStream_t stream) {
  fillScalesKernel<<<2048, 256, 0, stream>>>(scales, count, type, seed);
  cuda::checkLaunch("fillScales");
}

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
