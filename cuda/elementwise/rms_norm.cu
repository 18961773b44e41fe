// RMSNorm (Zhang & Sennrich 2019) of matrix rows, fused with the residual sum, and of the heads of q and k.
// Two passes over a row: the second finds it in L1 or L2. The order of the sum depends on the row's
// length alone, so a row's result does not depend on the batch.
#include "cuda/device/alignment.h"
#include "cuda/device/cuda_check.h"
#include "cuda/device/floats.cuh"
#include "cuda/device/reduce.cuh"
#include "cuda/elementwise/elementwise.h"
#include "cuda/elementwise/norm.cuh"

namespace octavo::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kHeadWarps = 4;  // heads a block normalises, one a warp

template <int kWidth>
__global__ void __launch_bounds__(kThreads)
rmsNormKernel(Matrix out, Matrix residual, Matrix x, Vector weight, float epsilon) {
  int64_t row = blockIdx.x;
  bool addsResidual = residual.data != nullptr;
  // What is normalised: the sum as it was rounded into the residual, or x itself.
  const void* source = addsResidual ? residual.data : x.data;
  DType sourceType = addsResidual ? residual.dtype : x.dtype;
  int64_t sourceStart = row * (addsResidual ? residual.stride : x.stride);
  float squares = 0;
  for (int64_t column = threadIdx.x * kWidth; column < x.columns; column += kThreads * kWidth) {
    float values[kWidth];
    loadVector(values, x.data, x.dtype, row * x.stride + column);
    if (addsResidual) {
      float sum[kWidth];
      loadVector(sum, residual.data, residual.dtype, row * residual.stride + column);
#pragma unroll
      for (int i = 0; i < kWidth; ++i) values[i] = roundTo(residual.dtype, sum[i] + values[i]);
      storeVector(residual.data, residual.dtype, row * residual.stride + column, values);
    }
#pragma unroll
    for (int i = 0; i < kWidth; ++i) squares += values[i] * values[i];
  }
  float factor = inverseRms(blockSum<kThreads>(squares), x.columns, epsilon);
  // A thread reads back only what it wrote itself, so out may be x.
  for (int64_t column = threadIdx.x * kWidth; column < x.columns; column += kThreads * kWidth) {
    float values[kWidth], weights[kWidth];
    loadVector(values, source, sourceType, sourceStart + column);
    loadVector(weights, weight.data, weight.dtype, column);
#pragma unroll
    for (int i = 0; i < kWidth; ++i) values[i] = values[i] * factor * weights[i];
    storeVector(out.data, out.dtype, row * out.stride + column, values);
  }
}

__global__ void __launch_bounds__(kHeadWarps * 32) headNormKernel(Heads heads, Vector weight, float epsilon) {
  int64_t index = static_cast<int64_t>(blockIdx.x) * kHeadWarps + threadIdx.x / 32;
  if (index >= heads.tokens * heads.heads) return;
  int64_t start = index / heads.heads * heads.tokenStride + index % heads.heads * heads.dim;
  int lane = threadIdx.x % 32;
  float squares = 0;
  for (int i = lane; i < heads.dim; i += 32) {
    float value = loadFloat(heads.data, heads.dtype, start + i);
    squares = __fmaf_rn(value, value, squares);
  }
  float factor = inverseRms(warpSum(squares), heads.dim, epsilon);
  for (int i = lane; i < heads.dim; i += 32) {
    float value = loadFloat(heads.data, heads.dtype, start + i);
    float scaled = normalized(value, factor, loadFloat(weight.data, weight.dtype, i));
    storeFloat(heads.data, heads.dtype, start + i, scaled);
  }
}

}  // namespace

void launchRmsNorm(const Matrix& out, const Matrix& residual, const Matrix& x, const Vector& weight, float epsilon,
                   cudaStream_t stream) {
  if (x.rows == 0) return;
  auto rows = static_cast<unsigned>(x.rows);
  bool chunked = isChunked(out) && isChunked(x) && isChunked(weight) && (!residual.data || isChunked(residual));
  if (chunked) rmsNormKernel<kChunk><<<rows, kThreads, 0, stream>>>(out, residual, x, weight, epsilon);
  else rmsNormKernel<1><<<rows, kThreads, 0, stream>>>(out, residual, x, weight, epsilon);
  checkLaunch("rmsNorm");
}

void launchHeadNorm(const Heads& heads, const Vector& weight, float epsilon, cudaStream_t stream) {
  int64_t count = heads.tokens * heads.heads;
  if (count == 0) return;
  auto blocks = static_cast<unsigned>(ceilDivide(count, kHeadWarps));
  headNormKernel<<<blocks, kHeadWarps * 32, 0, stream>>>(heads, weight, epsilon);
  checkLaunch("headNorm");
}

}  // namespace octavo::cuda
