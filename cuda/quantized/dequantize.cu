// Rows of codes to rows of numbers. A thread makes eight neighbouring numbers, so that codes are read and numbers
// written by whole sectors; a grid row is a row of the weight.
#include "cuda/device/alignment.h"
#include "cuda/device/cuda_check.h"
#include "cuda/quantized/codes.cuh"
#include "cuda/quantized/quantized.h"

namespace octavo::cuda {
namespace {

constexpr int kThreads = 128;

struct DequantizeArguments {
  Matrix out;
  QuantizedMatrix weight;
  int64_t firstRow;
};

/** Eight codes from column `column` on, a multiple of 8: as many bytes as a code has bits. */
template <CodeType kType>
__device__ __forceinline__ void loadCodes(uint32_t (&codes)[kChunk], const uint8_t* row, int64_t stride,
                                          int64_t column) {
  constexpr int kBits = codeBits(kType);
  int64_t at = column / 8 * kBits;
  uint64_t bits = 0;
  if constexpr (kBits == 8) {
    uint2 pair = *reinterpret_cast<const uint2*>(row + at);
    bits = static_cast<uint64_t>(pair.y) << 32 | pair.x;
  } else if constexpr (kBits == 4) {
    bits = *reinterpret_cast<const uint32_t*>(row + at);
  } else if constexpr (kBits == 2) {
    bits = *reinterpret_cast<const uint16_t*>(row + at);
  } else {
#pragma unroll
    for (int i = 0; i < kBits; ++i) bits |= at + i < stride ? static_cast<uint64_t>(row[at + i]) << 8 * i : 0;
  }
#pragma unroll
  for (int i = 0; i < kChunk; ++i) codes[i] = static_cast<uint32_t>(bits >> i * kBits) & ((1u << kBits) - 1);
}

template <CodeType kType, bool kChunked>
__global__ void __launch_bounds__(kThreads) dequantizeKernel(const __grid_constant__ DequantizeArguments a) {
  int64_t column = (static_cast<int64_t>(blockIdx.y) * kThreads + threadIdx.x) * kChunk;
  if (column >= a.weight.columns) return;
  int64_t row = a.firstRow + blockIdx.x;
  uint32_t codes[kChunk];
  loadCodes<kType>(codes, static_cast<const uint8_t*>(a.weight.codes) + row * a.weight.codeStride,
                   a.weight.codeStride, column);
  int64_t scaleRow = scaleRowOf(a.weight, row);
  float values[kChunk] = {};
  if (!a.weight.groupIndex && a.weight.groupColumns % kChunk == 0) {
    GroupScale group(a.weight, scaleRow, groupOf(a.weight, column));
#pragma unroll
    for (int i = 0; i < kChunk; ++i) values[i] = __fmul_rn(codeNumber<kType>(codes[i], group.zero), group.scale);
  } else {
#pragma unroll
    for (int i = 0; i < kChunk; ++i) {
      if (column + i >= a.weight.columns) continue;
      GroupScale group(a.weight, scaleRow, groupOf(a.weight, column + i));
      values[i] = __fmul_rn(codeNumber<kType>(codes[i], group.zero), group.scale);
    }
  }
  int64_t to = blockIdx.x * a.out.stride + column;
  if constexpr (kChunked) {
    storeChunk(a.out.data, a.out.dtype, to, values);
  } else {
#pragma unroll
    for (int i = 0; i < kChunk; ++i) {
      if (column + i < a.weight.columns) storeFloat(a.out.data, a.out.dtype, to + i, values[i]);
    }
  }
}

}  // namespace

void launchDequantize(const Matrix& out, const QuantizedMatrix& weight, int64_t firstRow, cudaStream_t stream) {
  DequantizeArguments a{out, weight, firstRow};
  dim3 grid(static_cast<unsigned>(out.rows), static_cast<unsigned>(ceilDivide(weight.columns, kThreads * kChunk)));
  forCodeType(weight.codeType, [&]<CodeType kType>() {
    if (isChunked(out)) dequantizeKernel<kType, true><<<grid, kThreads, 0, stream>>>(a);
    else dequantizeKernel<kType, false><<<grid, kThreads, 0, stream>>>(a);
  });
  checkLaunch("dequantize");
}

}  // namespace octavo::cuda
