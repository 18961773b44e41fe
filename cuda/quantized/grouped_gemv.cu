// out = x · weightᵀ for the rows of experts, from codes of any kind: plain, for what the tensor cores do not cover.
#include <algorithm>

#include "cuda/device/alignment.h"
#include "cuda/device/cuda_check.h"
#include "cuda/device/reduce.cuh"
#include "cuda/quantized/codes.cuh"
#include "cuda/quantized/quantized.h"

namespace octavo::cuda {
namespace {

constexpr int kWarps = 4;
constexpr int64_t kMostRows = 32768;  // of a launch: grids have 65535 rows at most

struct GroupedGemvArguments {
  Matrix out, x;
  QuantizedMatrix weight;
  ExpertRows experts;
  int64_t firstRow;
};

/** -1 where no expert has the row. A block asks for one row: every thread looks at some experts. */
__device__ __forceinline__ int expertOf(const ExpertRows& experts, int64_t row) {
  __shared__ int found;
  if (threadIdx.x == 0) found = -1;
  __syncthreads();
  for (int e = threadIdx.x; e < experts.count; e += kWarps * 32) {
    int64_t first = experts.first[e];
    if (row >= first && row < first + experts.rows[e]) found = e;
  }
  __syncthreads();
  return found;
}

template <CodeType kType>
__global__ void __launch_bounds__(kWarps * 32) groupedGemvKernel(const __grid_constant__ GroupedGemvArguments a) {
  int64_t row = a.firstRow + blockIdx.y;
  int expert = expertOf(a.experts, row);
  int64_t output = static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.x / 32;
  if (expert < 0 || output >= a.out.columns) return;
  int64_t weightRow = expert * a.out.columns + output;
  float sum = 0;
  for (int64_t column = threadIdx.x % 32 * kChunk; column < a.weight.columns; column += 32 * kChunk) {
    float numbers[kChunk];
    loadNumbers<kType>(numbers, a.weight, weightRow, column);
#pragma unroll
    for (int i = 0; i < kChunk; ++i) {
      bool isInside = column + i < a.weight.columns;
      float x = isInside ? loadFloat(a.x.data, a.x.dtype, row * a.x.stride + column + i) : 0.0f;
      sum = fmaf(x, numbers[i], sum);
    }
  }
  sum = warpSum(sum);
  if (threadIdx.x % 32 == 0) storeFloat(a.out.data, a.out.dtype, row * a.out.stride + output, sum);
}

}  // namespace

void launchGroupedGemv(const Matrix& out, const Matrix& x, const QuantizedMatrix& weight, const ExpertRows& experts,
                       cudaStream_t stream) {
  for (int64_t first = 0; first < out.rows; first += kMostRows) {
    const GroupedGemvArguments a{out, x, weight, experts, first};
    const dim3 grid(static_cast<unsigned>(ceilDivide(out.columns, kWarps)),
                    static_cast<unsigned>(std::min(kMostRows, out.rows - first)));
    forCodeType(weight.codeType, [&]<CodeType kType>() {
      groupedGemvKernel<kType><<<grid, kWarps * 32, 0, stream>>>(a);
    });
  }
  checkLaunch("groupedGemv");
}

}  // namespace octavo::cuda
