// A compact table put where a captured graph reads it: a block a row, a read and a write of what is in use.
#include "cuda/device/cuda_check.h"
#include "cuda/elementwise/elementwise.h"

namespace octavo::cuda {
namespace {

constexpr int kThreads = 128;

__global__ void __launch_bounds__(kThreads)
widenRowsKernel(int32_t* out, int32_t outStride, const int32_t* from, const int32_t* stride) {
  int32_t columns = *stride;
  const int32_t* row = from + static_cast<int64_t>(blockIdx.x) * columns;
  int32_t* wide = out + static_cast<int64_t>(blockIdx.x) * outStride;
  for (int32_t column = static_cast<int32_t>(threadIdx.x); column < min(columns, outStride); column += kThreads) {
    wide[column] = row[column];
  }
}

}  // namespace

void launchWidenRows(int32_t* out, int32_t outStride, const int32_t* from, const int32_t* stride, int32_t rows,
                     cudaStream_t stream) {
  if (rows == 0) return;
  widenRowsKernel<<<static_cast<unsigned>(rows), kThreads, 0, stream>>>(out, outStride, from, stride);
  checkLaunch("widenRows");
}

}  // namespace octavo::cuda
