// What a recorded step reads from and writes to pinned memory: over the link, without the host taking part.
#include <algorithm>

#include "cuda/device/alignment.h"
#include "cuda/device/cuda_check.h"
#include "cuda/elementwise/elementwise.h"

namespace octavo::cuda {
namespace {

constexpr int kThreads = 256, kMostBlocks = 32;

__device__ __forceinline__ char* imageOf(const ImageTurns& turns) {
  return static_cast<char*>(turns.images) + static_cast<size_t>(*turns.turn % turns.count) * turns.stride;
}

/** Volatile: the host has written since another step read the same image. */
__global__ void __launch_bounds__(kThreads) fetchImageKernel(uint64_t* to, ImageTurns turns) {
  const volatile uint64_t* image = reinterpret_cast<const volatile uint64_t*>(imageOf(turns));
  const auto words = static_cast<int64_t>(image[0] / sizeof(uint64_t));
  const int64_t first = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  for (int64_t i = first; i < words; i += static_cast<int64_t>(gridDim.x) * kThreads) to[i] = image[i];
}

/** One block, for the turn ends when all has been written. */
__global__ void __launch_bounds__(kThreads) storeImageKernel(ImageTurns turns, const uint64_t* from, int64_t words) {
  uint64_t* image = reinterpret_cast<uint64_t*>(imageOf(turns));
  for (int64_t i = threadIdx.x; i < words; i += kThreads) image[i] = from[i];
  __syncthreads();
  if (threadIdx.x == 0) *turns.turn = (*turns.turn + 1) % turns.count;
}

}  // namespace

void launchFetchImage(void* to, const ImageTurns& from, cudaStream_t stream) {
  const int64_t blocks = ceilDivide(static_cast<int64_t>(from.stride), kThreads * static_cast<int64_t>(sizeof(uint64_t)));
  fetchImageKernel<<<static_cast<unsigned>(std::min<int64_t>(blocks, kMostBlocks)), kThreads, 0, stream>>>(
      static_cast<uint64_t*>(to), from);
  checkLaunch("fetchImage");
}

void launchStoreImage(const ImageTurns& to, const void* from, size_t bytes, cudaStream_t stream) {
  storeImageKernel<<<1, kThreads, 0, stream>>>(to, static_cast<const uint64_t*>(from),
                                               static_cast<int64_t>(bytes / sizeof(uint64_t)));
  checkLaunch("storeImage");
}

}  // namespace octavo::cuda
