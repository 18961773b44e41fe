// Reductions in an order that depends on the block size alone.
#pragma once

namespace octavo::cuda {

/** The sum of `value` over a warp, the same bits in every lane. */
__device__ __forceinline__ float warpSum(float value) {
#pragma unroll
  for (int offset = 16; offset > 0; offset >>= 1) value += __shfl_xor_sync(0xffffffffu, value, offset);
  return value;
}

/** The sum over a block of kThreads threads, the same bits in every thread. All threads must call. */
template <int kThreads>
__device__ __forceinline__ float blockSum(float value) {
  __shared__ float partial[kThreads / 32];
  value = warpSum(value);
  __syncthreads();  // the last call's readers are done
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
  __syncthreads();
  float total = 0;
#pragma unroll
  for (int warp = 0; warp < kThreads / 32; ++warp) total += partial[warp];
  return total;
}

}  // namespace octavo::cuda
