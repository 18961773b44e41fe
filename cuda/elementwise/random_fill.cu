// Memory filled at random, bit for bit as the CPU does it. A thread handles one 8-element chunk (16-byte stores of
// 16-bit types, 8-byte ones of bytes) or, where memory is not aligned, one element.
#include "cuda/device/alignment.h"
#include "cuda/device/cuda_check.h"
#include "cuda/device/floats.cuh"
#include "cuda/elementwise/elementwise.h"

namespace octavo::cuda {
namespace {

constexpr int kThreads = 256;

__device__ __forceinline__ uint32_t wordOf(const RandomFill& fill, int64_t index) {
  return randomWord(fill.seed, static_cast<uint64_t>(fill.first + index));
}

__device__ __forceinline__ uint8_t byteOf(const RandomFill& fill, int64_t index) {
  uint32_t word = wordOf(fill, index);
  return fill.kind == RandomKind::kE4M3 ? randomE4m3(word) : static_cast<uint8_t>(word);
}

template <int kWidth>
__global__ void __launch_bounds__(kThreads) floatsKernel(RandomFill fill) {
  int64_t index = (static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x) * kWidth;
  if (index >= fill.count) return;
  float values[kWidth];
#pragma unroll
  for (int i = 0; i < kWidth; ++i) {
    values[i] = __fmaf_rn(fill.reach, randomUnit(wordOf(fill, index + i)), fill.middle);
  }
  storeVector(fill.to, fill.dtype, index, values);
}

__global__ void __launch_bounds__(kThreads) bytesKernel(RandomFill fill) {
  int64_t index = (static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x) * kChunk;
  if (index >= fill.count) return;
  uint32_t words[kChunk / 4] = {};
#pragma unroll
  for (int i = 0; i < kChunk; ++i) {
    words[i / 4] |= static_cast<uint32_t>(byteOf(fill, index + i)) << 8 * (i % 4);
  }
  *reinterpret_cast<uint2*>(static_cast<uint8_t*>(fill.to) + index) = make_uint2(words[0], words[1]);
}

__global__ void __launch_bounds__(kThreads) singleBytesKernel(RandomFill fill) {
  int64_t index = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (index < fill.count) static_cast<uint8_t*>(fill.to)[index] = byteOf(fill, index);
}

unsigned blocksOf(const RandomFill& fill, int width) {
  return static_cast<unsigned>(ceilDivide(fill.count, static_cast<int64_t>(kThreads) * width));
}

}  // namespace

void launchRandomFill(const RandomFill& fill, cudaStream_t stream) {
  if (fill.count == 0) return;
  const bool chunked = isChunked(fill.to, fill.count, 0);
  if (fill.kind == RandomKind::kUniform) {
    if (chunked) floatsKernel<kChunk><<<blocksOf(fill, kChunk), kThreads, 0, stream>>>(fill);
    else floatsKernel<1><<<blocksOf(fill, 1), kThreads, 0, stream>>>(fill);
  } else if (chunked) {
    bytesKernel<<<blocksOf(fill, kChunk), kThreads, 0, stream>>>(fill);
  } else {
    singleBytesKernel<<<blocksOf(fill, 1), kThreads, 0, stream>>>(fill);
  }
  checkLaunch("fillRandom");
}

}  // namespace octavo::cuda
