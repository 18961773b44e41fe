// Stored tensors into the layout of QuantizedMatrix, once a load: simple kernels whose reads are whole lines.
#include <algorithm>

#include "cuda/device/alignment.h"
#include "cuda/device/cuda_check.h"
#include "cuda/quantized/quantized.h"

namespace octavo::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int64_t kMostBlocks = 65535;

/** Every thread's share of `count` things. */
#define OCTAVO_EACH(index, count)                                                                   \
  for (int64_t index = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; index < (count); \
       index += static_cast<int64_t>(gridDim.x) * kThreads)

__device__ __forceinline__ uint8_t* resultRow(const Repack& r, int64_t row) {
  return static_cast<uint8_t*>(r.to) + row * r.stride;
}

/** AWQ's column of each nibble of a word. */
__device__ __forceinline__ int awqColumn(int nibble) { return nibble < 4 ? 2 * nibble : 2 * nibble - 7; }

template <typename Element>
__global__ void __launch_bounds__(kThreads) copyRowsKernel(const __grid_constant__ Repack r) {
  int64_t columns = r.columns * r.width / static_cast<int64_t>(sizeof(Element));
  OCTAVO_EACH(i, r.rows * columns) {
    int64_t row = i / columns, column = i % columns;
    reinterpret_cast<Element*>(resultRow(r, r.firstRow + row))[column] = static_cast<const Element*>(r.from)[i];
  }
}

template <typename Element>
__global__ void __launch_bounds__(kThreads) transposeKernel(const __grid_constant__ Repack r) {
  OCTAVO_EACH(i, r.rows * r.columns) {
    int64_t row = i / r.columns, column = i % r.columns;
    reinterpret_cast<Element*>(resultRow(r, column))[r.firstRow + row] = static_cast<const Element*>(r.from)[i];
  }
}

__global__ void __launch_bounds__(kThreads) repeatKernel(const __grid_constant__ Repack r) {
  OCTAVO_EACH(i, r.count) {
    for (int byte = 0; byte < r.width; ++byte) resultRow(r, i)[byte] = static_cast<const uint8_t*>(r.from)[byte];
  }
}

/** Eight rows of a column of words become a word of eight rows. */
__global__ void __launch_bounds__(kThreads) awqCodesKernel(const __grid_constant__ Repack r) {
  const auto* from = static_cast<const uint32_t*>(r.from);
  OCTAVO_EACH(i, r.rows / 8 * r.columns) {
    int64_t eight = i / r.columns, column = i % r.columns;
    uint32_t words[8];
#pragma unroll
    for (int k = 0; k < 8; ++k) words[k] = from[(eight * 8 + k) * r.columns + column];
#pragma unroll
    for (int nibble = 0; nibble < 8; ++nibble) {
      uint32_t result = 0;
#pragma unroll
      for (int k = 0; k < 8; ++k) result |= (words[k] >> 4 * nibble & 15u) << 4 * k;
      uint8_t* row = resultRow(r, column * 8 + awqColumn(nibble));
      reinterpret_cast<uint32_t*>(row)[r.firstRow / 8 + eight] = result;
    }
  }
}

__global__ void __launch_bounds__(kThreads) awqZerosKernel(const __grid_constant__ Repack r) {
  const auto* from = static_cast<const uint32_t*>(r.from);
  OCTAVO_EACH(i, r.rows * r.columns * 8) {
    int64_t word = i / 8, row = word / r.columns, column = word % r.columns;
    int nibble = static_cast<int>(i % 8);
    resultRow(r, column * 8 + awqColumn(nibble))[r.firstRow + row] =
        static_cast<uint8_t>(from[word] >> 4 * nibble & 15u);
  }
}

__global__ void __launch_bounds__(kThreads) gptqZerosKernel(const __grid_constant__ Repack r) {
  const auto* from = static_cast<const uint32_t*>(r.from);
  uint32_t mask = (1u << r.bits) - 1;
  OCTAVO_EACH(i, r.rows * r.count) {
    int64_t row = i / r.count, n = i % r.count, bit = n * r.bits;
    const uint32_t* words = from + row * r.columns + bit / 32;
    uint32_t stored = words[0] >> bit % 32;
    if (bit % 32 + r.bits > 32) stored |= words[1] << (32 - bit % 32);
    resultRow(r, n)[r.firstRow + row] = static_cast<uint8_t>((stored + static_cast<uint32_t>(r.zeroOffset)) & mask);
  }
}

__global__ void __launch_bounds__(kThreads) packedZerosKernel(const __grid_constant__ Repack r) {
  const auto* from = static_cast<const uint32_t*>(r.from);
  int each = 32 / r.bits;
  OCTAVO_EACH(i, r.rows * r.columns * each) {
    int64_t word = i / each, n = (r.firstRow + word / r.columns) * each + i % each;
    if (n >= r.count) continue;
    uint32_t zero = from[word] >> static_cast<int>(i % each) * r.bits & ((1u << r.bits) - 1);
    resultRow(r, n)[word % r.columns] = static_cast<uint8_t>(zero);
  }
}

template <typename Kernel>
void launch(const Repack& r, int64_t count, Kernel kernel, cudaStream_t stream) {
  auto blocks = static_cast<unsigned>(std::min(ceilDivide(count, kThreads), kMostBlocks));
  kernel<<<blocks, kThreads, 0, stream>>>(r);
}

bool isWordwise(const Repack& r) {
  return (reinterpret_cast<uintptr_t>(r.from) | reinterpret_cast<uintptr_t>(r.to)) % 4 == 0 && r.stride % 4 == 0 &&
         r.columns * r.width % 4 == 0;
}

}  // namespace

void launchRepack(const Repack& r, cudaStream_t stream) {
  const int64_t words = r.rows * r.columns;
  switch (r.kind) {
    case RepackKind::kRows:
      if (isWordwise(r)) launch(r, words * r.width / 4, copyRowsKernel<uint32_t>, stream);
      else launch(r, words * r.width, copyRowsKernel<uint8_t>, stream);
      break;
    case RepackKind::kTranspose:
      if (r.width == 4) launch(r, words, transposeKernel<uint32_t>, stream);
      else if (r.width == 2) launch(r, words, transposeKernel<uint16_t>, stream);
      else launch(r, words, transposeKernel<uint8_t>, stream);
      break;
    case RepackKind::kRepeat: launch(r, r.count, repeatKernel, stream); break;
    case RepackKind::kAwqCodes: launch(r, words / 8, awqCodesKernel, stream); break;
    case RepackKind::kAwqZeros: launch(r, words * 8, awqZerosKernel, stream); break;
    case RepackKind::kGptqZeros: launch(r, r.rows * r.count, gptqZerosKernel, stream); break;
    case RepackKind::kPackedZeros: launch(r, words * (32 / r.bits), packedZerosKernel, stream); break;
  }
  checkLaunch("repack");
}

}  // namespace octavo::cuda
