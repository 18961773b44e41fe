// Matrix-vector products for few rows of x: bound by reading the weight, once for every four rows.
//
// A warp takes kOutputs rows of the weight; lanes stride over K in 8-element chunks (16-byte loads of a
// 16-bit weight), fp32 fma, one butterfly at the end. A lane's chunks are added in order of K whatever
// kRows and kOutputs are, so every instantiation gives the same bits for a row.
//
// Naive: a thread an output, element by element. This: bf16 4096×4096, one row, 12.5 µs launched alone
// (2.7 TB/s), 28672×4096 58 µs (4.05 TB/s; the card reads at 4.5): H200, 2026-11-29, cold weights, median.
#include "cuda/device/alignment.h"
#include "cuda/device/cuda_check.h"
#include "cuda/device/floats.cuh"
#include "cuda/device/reduce.cuh"
#include "cuda/gemm/linear.h"

namespace octavo::cuda {
namespace {

constexpr int kWarps = 4;

struct GemvArguments {
  Matrix out, x, weight;
  Vector bias;
};

/** A chunk of weights as it lies in memory; converting it later keeps many loads in flight. */
template <DType kType> struct WeightChunk { uint4 bits; };
template <> struct WeightChunk<DType::kF32> { uint4 bits, high; };

template <DType kType>
__device__ __forceinline__ void fetch(WeightChunk<kType>& chunk, const void* data, int64_t index) {
  if constexpr (kType == DType::kF32) {
    const uint4* from = reinterpret_cast<const uint4*>(static_cast<const float*>(data) + index);
    chunk.bits = __ldcs(from);
    chunk.high = __ldcs(from + 1);
  } else {
    chunk.bits = __ldcs(reinterpret_cast<const uint4*>(static_cast<const uint16_t*>(data) + index));
  }
}

template <DType kType>
__device__ __forceinline__ void convert(float (&values)[kChunk], const WeightChunk<kType>& chunk) {
  if constexpr (kType == DType::kF32) {
    const uint32_t words[8] = {chunk.bits.x, chunk.bits.y, chunk.bits.z, chunk.bits.w,
                               chunk.high.x, chunk.high.y, chunk.high.z, chunk.high.w};
#pragma unroll
    for (int i = 0; i < kChunk; ++i) values[i] = __uint_as_float(words[i]);
  } else {
    unpackChunk(values, chunk.bits, kType == DType::kBF16);
  }
}

/** Chunks of kRows rows of x. One branch on the dtype for all of them, so that they are in flight together. */
template <int kRows>
__device__ __forceinline__ void loadRows(float (&values)[kRows][kChunk], const Matrix& x, int64_t firstRow,
                                         int64_t column) {
  // Rows past the end repeat the last one; their sums are not stored.
  if (x.dtype == DType::kF32) {
#pragma unroll
    for (int m = 0; m < kRows; ++m) {
      loadChunk(values[m], x.data, DType::kF32, min(firstRow + m, x.rows - 1) * x.stride + column);
    }
    return;
  }
  uint4 bits[kRows];
#pragma unroll
  for (int m = 0; m < kRows; ++m) {
    int64_t index = min(firstRow + m, x.rows - 1) * x.stride + column;
    bits[m] = *reinterpret_cast<const uint4*>(static_cast<const uint16_t*>(x.data) + index);
  }
#pragma unroll
  for (int m = 0; m < kRows; ++m) unpackChunk(values[m], bits[m], x.dtype == DType::kBF16);
}

template <int kRows, int kOutputs>
__device__ __forceinline__ void multiply(float (&sums)[kRows][kOutputs], const GemvArguments& a, int64_t firstRow,
                                         int64_t column, const float (&weights)[kOutputs][kChunk]) {
  float x[kRows][kChunk];
  loadRows(x, a.x, firstRow, column);
#pragma unroll
  for (int m = 0; m < kRows; ++m) {
#pragma unroll
    for (int n = 0; n < kOutputs; ++n) {
#pragma unroll
      for (int i = 0; i < kChunk; ++i) sums[m][n] = fmaf(x[m][i], weights[n][i], sums[m][n]);
    }
  }
}

/** kUnroll steps of the whole warp are loaded before the first is used. */
template <DType kType, int kRows, int kOutputs, int kUnroll>
__device__ __forceinline__ void accumulate(float (&sums)[kRows][kOutputs], const GemvArguments& a, int64_t firstRow,
                                           int64_t column, const int64_t (&outputs)[kOutputs]) {
  WeightChunk<kType> chunks[kUnroll][kOutputs];
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
#pragma unroll
    for (int n = 0; n < kOutputs; ++n) {
      fetch<kType>(chunks[u][n], a.weight.data, outputs[n] * a.weight.stride + column + u * 32 * kChunk);
    }
  }
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    float weights[kOutputs][kChunk];
#pragma unroll
    for (int n = 0; n < kOutputs; ++n) convert<kType>(weights[n], chunks[u][n]);
    multiply(sums, a, firstRow, column + u * 32 * kChunk, weights);
  }
}

template <DType kType, int kRows, int kOutputs, int kUnroll>
__global__ void __launch_bounds__(kWarps * 32) gemvKernel(const __grid_constant__ GemvArguments a) {
  int lane = threadIdx.x % 32;
  int64_t firstOutput = (static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.x / 32) * kOutputs;
  int64_t firstRow = static_cast<int64_t>(blockIdx.y) * kRows;
  if (firstOutput >= a.out.columns) return;
  int64_t outputs[kOutputs];
#pragma unroll
  for (int n = 0; n < kOutputs; ++n) outputs[n] = min(firstOutput + n, a.out.columns - 1);

  float sums[kRows][kOutputs] = {};
  int64_t column = lane * kChunk;
  int64_t count = a.weight.columns;
  constexpr int64_t kStep = 32 * kChunk;
  for (; column + (kUnroll - 1) * kStep < count; column += kUnroll * kStep) {
    accumulate<kType, kRows, kOutputs, kUnroll>(sums, a, firstRow, column, outputs);
  }
  for (; column < count; column += kStep) {
    accumulate<kType, kRows, kOutputs, 1>(sums, a, firstRow, column, outputs);
  }

#pragma unroll
  for (int m = 0; m < kRows; ++m) {
#pragma unroll
    for (int n = 0; n < kOutputs; ++n) {
      float sum = warpSum(sums[m][n]);
      // One lane a result, so that the stores of a warp are in flight together.
      if (lane != (m * kOutputs + n) % 32 || firstRow + m >= a.out.rows || firstOutput + n >= a.out.columns) continue;
      if (a.bias.data) sum += loadFloat(a.bias.data, a.bias.dtype, firstOutput + n);
      storeFloat(a.out.data, a.out.dtype, (firstRow + m) * a.out.stride + firstOutput + n, sum);
    }
  }
}

/** Unaligned rows: a warp an output, element by element, in the order of the kernel above. */
__global__ void __launch_bounds__(kWarps * 32) gemvUnalignedKernel(const __grid_constant__ GemvArguments a) {
  int lane = threadIdx.x % 32;
  int64_t output = static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.x / 32, row = blockIdx.y;
  if (output >= a.out.columns) return;
  float sum = 0;
  for (int64_t column = lane * kChunk; column < a.weight.columns; column += 32 * kChunk) {
    int64_t end = min(column + kChunk, a.weight.columns);
    for (int64_t k = column; k < end; ++k) {
      sum = fmaf(loadFloat(a.x.data, a.x.dtype, row * a.x.stride + k),
                 loadFloat(a.weight.data, a.weight.dtype, output * a.weight.stride + k), sum);
    }
  }
  sum = warpSum(sum);
  if (lane != 0) return;
  if (a.bias.data) sum += loadFloat(a.bias.data, a.bias.dtype, output);
  storeFloat(a.out.data, a.out.dtype, row * a.out.stride + output, sum);
}

template <DType kType, int kRows, int kOutputs, int kUnroll>
void launch(const GemvArguments& a, cudaStream_t stream) {
  dim3 grid(static_cast<unsigned>(ceilDivide(a.out.columns, kWarps * kOutputs)),
            static_cast<unsigned>(ceilDivide(a.out.rows, kRows)));
  gemvKernel<kType, kRows, kOutputs, kUnroll><<<grid, kWarps * 32, 0, stream>>>(a);
}

template <DType kType>
void launchRows(const GemvArguments& a, cudaStream_t stream) {
  if (a.out.rows == 1) launch<kType, 1, 2, 4>(a, stream);
  else launch<kType, 4, 4, 1>(a, stream);
}

}  // namespace

void launchGemv(const Matrix& out, const Matrix& x, const Matrix& weight, const Vector& bias, cudaStream_t stream) {
  GemvArguments a{out, x, weight, bias};
  if (!isChunked(x) || !isChunked(weight)) {
    dim3 grid(static_cast<unsigned>(ceilDivide(out.columns, kWarps)), static_cast<unsigned>(out.rows));
    gemvUnalignedKernel<<<grid, kWarps * 32, 0, stream>>>(a);
  } else if (weight.dtype == DType::kF32) {
    launchRows<DType::kF32>(a, stream);
  } else if (weight.dtype == DType::kBF16) {
    launchRows<DType::kBF16>(a, stream);
  } else {
    launchRows<DType::kF16>(a, stream);
  }
  checkLaunch("gemv");
}

}  // namespace octavo::cuda
