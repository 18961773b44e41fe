// Row-wise copies and maps: convert, gather (embedding), add, SwiGLU. A thread handles one 8-element chunk
// (16-byte accesses) or, where a view is not aligned, one element; a grid row is a matrix row.
#include "cuda/device/alignment.h"
#include "cuda/device/cuda_check.h"
#include "cuda/device/floats.cuh"
#include "cuda/elementwise/elementwise.h"

namespace octavo::cuda {
namespace {

constexpr int kThreads = 256;

// x: rows (up to 2³¹), y: pieces of a row.
dim3 rowGrid(int64_t rows, int64_t columns, int width) {
  return dim3(static_cast<unsigned>(rows), static_cast<unsigned>(ceilDivide(columns, kThreads * width)));
}

__device__ __forceinline__ int64_t firstColumn(int width) {
  return (static_cast<int64_t>(blockIdx.y) * kThreads + threadIdx.x) * width;
}

template <int kWidth>
__global__ void __launch_bounds__(kThreads)
convertKernel(void* out, DType outType, const void* from, DType fromType, int64_t count) {
  int64_t index = (static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x) * kWidth;
  if (index >= count) return;
  float values[kWidth];
  loadVector(values, from, fromType, index);
  storeVector(out, outType, index, values);
}

template <int kWidth>
__global__ void __launch_bounds__(kThreads) gatherKernel(Matrix out, Matrix from, const int32_t* rows) {
  int64_t column = firstColumn(kWidth);
  if (column >= out.columns) return;
  int64_t row = rows[blockIdx.x];
  float values[kWidth] = {};
  if (row >= 0 && row < from.rows) loadVector(values, from.data, from.dtype, row * from.stride + column);
  storeVector(out.data, out.dtype, blockIdx.x * out.stride + column, values);
}

template <int kWidth>
__global__ void __launch_bounds__(kThreads) addKernel(Matrix y, Matrix x) {
  int64_t column = firstColumn(kWidth);
  if (column >= y.columns) return;
  float sum[kWidth], values[kWidth];
  loadVector(sum, y.data, y.dtype, blockIdx.x * y.stride + column);
  loadVector(values, x.data, x.dtype, blockIdx.x * x.stride + column);
#pragma unroll
  for (int i = 0; i < kWidth; ++i) sum[i] += values[i];
  storeVector(y.data, y.dtype, blockIdx.x * y.stride + column, sum);
}

template <int kWidth>
__global__ void __launch_bounds__(kThreads) swigluKernel(Matrix out, Matrix gateUp) {
  int64_t column = firstColumn(kWidth);
  if (column >= out.columns) return;
  float gate[kWidth], up[kWidth];
  loadVector(gate, gateUp.data, gateUp.dtype, blockIdx.x * gateUp.stride + column);
  loadVector(up, gateUp.data, gateUp.dtype, blockIdx.x * gateUp.stride + out.columns + column);
#pragma unroll
  for (int i = 0; i < kWidth; ++i) up[i] *= gate[i] / (1.0f + expf(-gate[i]));
  storeVector(out.data, out.dtype, blockIdx.x * out.stride + column, up);
}

}  // namespace

void launchConvert(void* out, DType outType, const void* from, DType fromType, int64_t count, cudaStream_t stream) {
  if (count == 0) return;
  bool chunked = isChunked(out, count, 0) && isChunked(from, count, 0);
  auto blocks = static_cast<unsigned>(ceilDivide(count, kThreads * (chunked ? kChunk : 1)));
  if (chunked) convertKernel<kChunk><<<blocks, kThreads, 0, stream>>>(out, outType, from, fromType, count);
  else convertKernel<1><<<blocks, kThreads, 0, stream>>>(out, outType, from, fromType, count);
  checkLaunch("convert");
}

void launchGather(const Matrix& out, const Matrix& from, const int32_t* rows, cudaStream_t stream) {
  if (out.rows == 0) return;
  if (isChunked(out) && isChunked(from)) {
    gatherKernel<kChunk><<<rowGrid(out.rows, out.columns, kChunk), kThreads, 0, stream>>>(out, from, rows);
  } else {
    gatherKernel<1><<<rowGrid(out.rows, out.columns, 1), kThreads, 0, stream>>>(out, from, rows);
  }
  checkLaunch("gather");
}

void launchAdd(const Matrix& y, const Matrix& x, cudaStream_t stream) {
  if (y.rows == 0) return;
  if (isChunked(y) && isChunked(x)) {
    addKernel<kChunk><<<rowGrid(y.rows, y.columns, kChunk), kThreads, 0, stream>>>(y, x);
  } else {
    addKernel<1><<<rowGrid(y.rows, y.columns, 1), kThreads, 0, stream>>>(y, x);
  }
  checkLaunch("add");
}

void launchSwiglu(const Matrix& out, const Matrix& gateUp, cudaStream_t stream) {
  if (out.rows == 0) return;
  if (isChunked(out) && isChunked(gateUp)) {
    swigluKernel<kChunk><<<rowGrid(out.rows, out.columns, kChunk), kThreads, 0, stream>>>(out, gateUp);
  } else {
    swigluKernel<1><<<rowGrid(out.rows, out.columns, 1), kThreads, 0, stream>>>(out, gateUp);
  }
  checkLaunch("swiglu");
}

}  // namespace octavo::cuda
