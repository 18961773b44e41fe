// Moves rows of latents into their slots of the paged cache, and out of them: a block a row.
#include "cuda/attention/mla.h"
#include "cuda/device/alignment.h"
#include "cuda/device/cuda_check.h"
#include "cuda/device/floats.cuh"

namespace octavo::cuda {
namespace {

constexpr int kThreads = 96;  // a row of 576 in chunks of 8 takes 72

__device__ __forceinline__ int64_t rowAt(const LatentCacheView& cache, int32_t layer, int64_t slot) {
  int64_t block = slot / cache.blockSize, offset = slot % cache.blockSize;
  return ((block * cache.layers + layer) * cache.blockSize + offset) * cache.width;
}

template <int kWidth, bool kWrites>
__global__ void __launch_bounds__(kThreads)
latentRowKernel(LatentCacheView cache, int32_t layer, Matrix rows, const int64_t* slots) {
  int64_t row = blockIdx.x, slot = slots[row];
  if (kWrites && slot < 0) return;
  int64_t at = rowAt(cache, layer, slot < 0 ? 0 : slot), own = row * rows.stride;
  for (int d = threadIdx.x * kWidth; d < cache.width; d += kThreads * kWidth) {
    float values[kWidth] = {};
    if constexpr (kWrites) {
      loadVector(values, rows.data, rows.dtype, own + d);
      storeVector(cache.data, cache.dtype, at + d, values);
    } else {
      if (slot >= 0) loadVector(values, cache.data, cache.dtype, at + d);
      storeVector(rows.data, rows.dtype, own + d, values);
    }
  }
}

template <bool kWrites>
void launch(const LatentCacheView& cache, int32_t layer, const Matrix& rows, const int64_t* slots,
            cudaStream_t stream) {
  if (rows.rows == 0) return;
  const auto blocks = static_cast<unsigned>(rows.rows);
  if (isChunked(rows) && isChunked(cache.data, cache.width, 0)) {
    latentRowKernel<kChunk, kWrites><<<blocks, kThreads, 0, stream>>>(cache, layer, rows, slots);
  } else {
    latentRowKernel<1, kWrites><<<blocks, kThreads, 0, stream>>>(cache, layer, rows, slots);
  }
  checkLaunch(kWrites ? "latentWrite" : "latentRead");
}

}  // namespace

void launchLatentWrite(const LatentCacheView& cache, int32_t layer, const Matrix& rows, const int64_t* slots,
                       cudaStream_t stream) {
  launch<true>(cache, layer, rows, slots, stream);
}

void launchLatentRead(const Matrix& out, const LatentCacheView& cache, int32_t layer, const int64_t* slots,
                      cudaStream_t stream) {
  launch<false>(cache, layer, out, slots, stream);
}

}  // namespace octavo::cuda
