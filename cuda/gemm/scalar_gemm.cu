// The tiled product on the CUDA cores, for fp32, mixed and unaligned operands.
//
// 128×128 tiles, 8 deep, 8×8 outputs a thread in fp32; operands are converted on their way into shared
// memory. Products are added in order of K, so a row's result does not depend on the number of rows.
// fp32, 2048 rows of 4096×4096 on an H200: 24 TFLOP/s of the card's 67 (2026-11-29).
#include "cuda/device/alignment.h"
#include "cuda/device/cuda_check.h"
#include "cuda/device/floats.cuh"
#include "cuda/gemm/linear.h"

namespace octavo::cuda {
namespace {

constexpr int kTile = 128;
constexpr int kDepth = 8;
constexpr int kThreads = 256;
constexpr int kOwn = 8;             // rows and columns of outputs a thread
constexpr int kPitch = kTile + 4;   // keeps the transposing stores off one bank

struct ScalarArguments {
  Matrix out, x, weight;
  Vector bias;
};

/** Half a row of the tile a thread: four consecutive elements along K, zeros outside. */
__device__ __forceinline__ void fetch(float (&values)[4], const Matrix& from, int64_t first, int64_t depth) {
  int64_t row = first + threadIdx.x / 2, column = depth + threadIdx.x % 2 * 4;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    bool valid = row < from.rows && column + i < from.columns;
    values[i] = valid ? loadFloat(from.data, from.dtype, row * from.stride + column + i) : 0.0f;
  }
}

__device__ __forceinline__ void place(float (*tile)[kPitch], const float (&values)[4]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) tile[threadIdx.x % 2 * 4 + i][threadIdx.x / 2] = values[i];
}

__global__ void __launch_bounds__(kThreads) scalarGemmKernel(const __grid_constant__ ScalarArguments a) {
  __shared__ __align__(16) float xTile[kDepth][kPitch], weightTile[kDepth][kPitch];
  int64_t firstRow = static_cast<int64_t>(blockIdx.x) * kTile, firstColumn = static_cast<int64_t>(blockIdx.y) * kTile;
  int ownRow = threadIdx.x / 16 * kOwn, ownColumn = threadIdx.x % 16 * kOwn;
  float sums[kOwn][kOwn] = {};
  float nextX[4], nextWeight[4];
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
      float left[kOwn], right[kOwn];
#pragma unroll
      for (int i = 0; i < kOwn; ++i) left[i] = xTile[k][ownRow + i];
#pragma unroll
      for (int i = 0; i < kOwn; ++i) right[i] = weightTile[k][ownColumn + i];
#pragma unroll
      for (int i = 0; i < kOwn; ++i) {
#pragma unroll
        for (int j = 0; j < kOwn; ++j) sums[i][j] = fmaf(left[i], right[j], sums[i][j]);
      }
    }
  }
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    int64_t row = firstRow + ownRow + i;
#pragma unroll
    for (int j = 0; j < kOwn; ++j) {
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
  dim3 grid(static_cast<unsigned>(ceilDivide(out.rows, kTile)), static_cast<unsigned>(ceilDivide(out.columns, kTile)));
  scalarGemmKernel<<<grid, kThreads, 0, stream>>>({out, x, weight, bias});
  checkLaunch("scalarGemm");
}

}  // namespace octavo::cuda
