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

template <CodeType kType, bool kChunked>
__global__ void __launch_bounds__(kThreads) dequantizeKernel(const __grid_constant__ DequantizeArguments a) {
  int64_t column = (static_cast<int64_t>(blockIdx.y) * kThreads + threadIdx.x) * kChunk;
  if (column >= a.weight.columns) return;
  int64_t row = a.firstRow + blockIdx.x;
  float values[kChunk];
  loadNumbers<kType>(values, a.weight, row, column);
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
