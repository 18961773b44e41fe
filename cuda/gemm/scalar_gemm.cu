// The tiled product on the CUDA cores, for fp32, mixed and unaligned operands.
//
// 128×64 tiles, 8 deep, 8×4 outputs a thread in fp32; operands are converted on their way into shared
// memory. Products are added in order of K, in runs of 64 whose sums are added up, which keeps the rounding
// error of a long K small; so a row's result does not depend on the number of rows.
//
// fp32, 2048 rows of 4096×4096 on an H200 (2026-11-29): 21.8 TFLOP/s of the card's 67; with 128×128 tiles and
// one running sum 24.
#include "cuda/device/alignment.h"
#include "cuda/device/cuda_check.h"
#include "cuda/device/floats.cuh"
#include "cuda/gemm/linear.h"

namespace octavo::cuda {
namespace {

constexpr int kRows = 128, kColumns = 64;    // of outputs a block
constexpr int kOwnRows = 8, kOwnColumns = 4;  // of outputs a thread
constexpr int kDepth = 8;
constexpr int kRun = 64;                      // of K: products that are summed by themselves
constexpr int kThreads = 256;
constexpr int kPad = 4;                       // keeps the transposing stores off one bank

struct ScalarArguments {
  Matrix out, x, weight;
  Vector bias;
};

/** kCount consecutive elements along K of one row of a tile; zeros outside. */
template <int kCount>
__device__ __forceinline__ void fetch(float (&values)[kCount], const Matrix& from, int64_t first, int64_t depth) {
  constexpr int kThreadsPerRow = kDepth / kCount;
  int64_t row = first + threadIdx.x / kThreadsPerRow, column = depth + threadIdx.x % kThreadsPerRow * kCount;
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    bool valid = row < from.rows && column + i < from.columns;
    values[i] = valid ? loadFloat(from.data, from.dtype, row * from.stride + column + i) : 0.0f;
  }
}

template <int kPitch, int kCount>
__device__ __forceinline__ void place(float (&tile)[kDepth][kPitch], const float (&values)[kCount]) {
  constexpr int kThreadsPerRow = kDepth / kCount;
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    tile[threadIdx.x % kThreadsPerRow * kCount + i][threadIdx.x / kThreadsPerRow] = values[i];
  }
}

__global__ void __launch_bounds__(kThreads, 2) scalarGemmKernel(const __grid_constant__ ScalarArguments a) {
  __shared__ __align__(16) float xTile[kDepth][kRows + kPad], weightTile[kDepth][kColumns + kPad];
  int64_t firstRow = static_cast<int64_t>(blockIdx.x) * kRows;
  int64_t firstColumn = static_cast<int64_t>(blockIdx.y) * kColumns;
  int ownRow = threadIdx.x / 16 * kOwnRows, ownColumn = threadIdx.x % 16 * kOwnColumns;
  float sums[kOwnRows][kOwnColumns] = {}, run[kOwnRows][kOwnColumns] = {};
  float nextX[4], nextWeight[2];
  fetch(nextX, a.x, firstRow, 0);
  fetch(nextWeight, a.weight, firstColumn, 0);
  for (int64_t depth = 0; depth < a.weight.columns; depth += kDepth) {
    __syncthreads();
    place(xTile, nextX);
    place(weightTile, nextWeight);
    __syncthreads();
    fetch(nextX, a.x, firstRow, depth + kDepth);
    fetch(nextWeight, a.weight, firstColumn, depth + kDepth);
#pragma unroll
    for (int k = 0; k < kDepth; ++k) {
      float left[kOwnRows], right[kOwnColumns];
#pragma unroll
      for (int i = 0; i < kOwnRows; ++i) left[i] = xTile[k][ownRow + i];
#pragma unroll
      for (int i = 0; i < kOwnColumns; ++i) right[i] = weightTile[k][ownColumn + i];
#pragma unroll
      for (int i = 0; i < kOwnRows; ++i) {
#pragma unroll
        for (int j = 0; j < kOwnColumns; ++j) run[i][j] = fmaf(left[i], right[j], run[i][j]);
      }
    }
    bool ends = (depth + kDepth) % kRun == 0 || depth + kDepth >= a.weight.columns;
    if (!ends) continue;
#pragma unroll
    for (int i = 0; i < kOwnRows; ++i) {
#pragma unroll
      for (int j = 0; j < kOwnColumns; ++j) {
        sums[i][j] += run[i][j];
        run[i][j] = 0;
      }
    }
  }
#pragma unroll
  for (int i = 0; i < kOwnRows; ++i) {
    int64_t row = firstRow + ownRow + i;
#pragma unroll
    for (int j = 0; j < kOwnColumns; ++j) {
      int64_t column = firstColumn + ownColumn + j;
      if (row >= a.out.rows || column >= a.out.columns) continue;
      float sum = sums[i][j];
      if (a.bias.data) sum += loadFloat(a.bias.data, a.bias.dtype, column);
      storeFloat(a.out.data, a.out.dtype, row * a.out.stride + column, sum);
    }
  }
}

}  // namespace

void launchScalarGemm(const Matrix& out, const Matrix& x, const Matrix& weight, const Vector& bias,
                      cudaStream_t stream) {
  dim3 grid(static_cast<unsigned>(ceilDivide(out.rows, kRows)),
            static_cast<unsigned>(ceilDivide(out.columns, kColumns)));
  scalarGemmKernel<<<grid, kThreads, 0, stream>>>({out, x, weight, bias});
  checkLaunch("scalarGemm");
}

}  // namespace octavo::cuda
