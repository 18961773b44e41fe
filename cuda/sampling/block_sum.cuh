// Block-wide sums and searches over integers, which no order of addition can change.
#pragma once

#include <cstdint>

namespace octavo::cuda::sampling {

constexpr int kThreads = 1024;
constexpr int kWarps = kThreads / 32;
constexpr int kBins = 2048;

/** Shared memory of the block-wide functions; every one of them begins and ends with all threads in step. */
struct Scratch {
  uint32_t low[kBins], high[kBins];  // 64-bit bins in two words: shared memory adds 32 bits at a time
  uint64_t warpSums[kWarps];
  float warpValues[kWarps];
  int32_t warpIds[kWarps];
  uint64_t found;       // what a search found …
  uint64_t before;      // … and the sum before it
};

__device__ __forceinline__ uint64_t warpSum64(uint64_t value) {
#pragma unroll
  for (int offset = 16; offset > 0; offset >>= 1) value += __shfl_xor_sync(0xffffffffu, value, offset);
  return value;
}

/** Sum of `value` over this thread and those before it. */
__device__ __forceinline__ uint64_t blockScan(uint64_t value, Scratch& scratch) {
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
  for (int offset = 1; offset < 32; offset <<= 1) {
    uint64_t other = __shfl_up_sync(0xffffffffu, value, offset);
    if (lane >= offset) value += other;
  }
  __syncthreads();
  if (lane == 31) scratch.warpSums[warp] = value;
  __syncthreads();
  for (int i = 0; i < warp; ++i) value += scratch.warpSums[i];
  return value;
}

__device__ __forceinline__ uint64_t blockTotal(uint64_t value, Scratch& scratch) {
  value = warpSum64(value);
  __syncthreads();
  if (threadIdx.x % 32 == 0) scratch.warpSums[threadIdx.x / 32] = value;
  __syncthreads();
  uint64_t total = 0;
#pragma unroll
  for (int i = 0; i < kWarps; ++i) total += scratch.warpSums[i];
  return total;
}

/** Adds to a 64-bit bin. Every wrap of the low word is seen by exactly one addition, so the sum is exact. */
__device__ __forceinline__ void addToBin(Scratch& scratch, int bin, uint64_t amount) {
  auto low = static_cast<uint32_t>(amount), high = static_cast<uint32_t>(amount >> 32);
  uint32_t old = atomicAdd(&scratch.low[bin], low);
  high += old + low < old;
  if (high != 0) atomicAdd(&scratch.high[bin], high);
}

__device__ __forceinline__ void clearBins(Scratch& scratch) {
  __syncthreads();
  for (int bin = threadIdx.x; bin < kBins; bin += kThreads) scratch.low[bin] = scratch.high[bin] = 0;
  __syncthreads();
}

__device__ __forceinline__ uint64_t binSum(const Scratch& scratch, int bin) {
  return static_cast<uint64_t>(scratch.high[bin]) << 32 | scratch.low[bin];
}

__device__ __forceinline__ uint64_t binTotal(Scratch& scratch) {
  __syncthreads();
  uint64_t own = 0;
  for (int bin = threadIdx.x; bin < kBins; bin += kThreads) own += binSum(scratch, bin);
  return blockTotal(own, scratch);
}

/**
 * The first bin at which the running sum reaches `target` (1 … total); `target` becomes what is wanted
 * of that bin.
 */
__device__ __forceinline__ int findBin(uint64_t& target, Scratch& scratch) {
  constexpr int kOwn = kBins / kThreads;
  __syncthreads();
  int first = threadIdx.x * kOwn;
  uint64_t own = 0;
#pragma unroll
  for (int i = 0; i < kOwn; ++i) own += binSum(scratch, first + i);
  uint64_t sum = blockScan(own, scratch) - own;
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    uint64_t next = sum + binSum(scratch, first + i);
    if (sum < target && next >= target) {
      scratch.found = first + i;
      scratch.before = sum;
    }
    sum = next;
  }
  __syncthreads();
  target -= scratch.before;
  return static_cast<int>(scratch.found);
}

/**
 * The first id in [0, count) at which the running sum of measure(id) exceeds targetOf(total), which must be
 * below the total: first the segment of a thirty-second that holds it, then that segment's, until a thread
 * an id is enough. 0 when the total is 0.
 */
template <typename Measure, typename TargetOf>
__device__ int findFirst(int count, Scratch& scratch, Measure measure, TargetOf targetOf) {
  constexpr int kUnroll = 4;
  int begin = 0, end = count;
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  uint64_t target = 0;
  for (bool first = true; first || end - begin > kThreads; first = false) {
    int length = (end - begin + kWarps - 1) / kWarps;
    int segmentEnd = min(end, begin + (warp + 1) * length);
    uint64_t sum = 0;
    int id = begin + warp * length + lane;
    for (; id + 32 * (kUnroll - 1) < segmentEnd; id += 32 * kUnroll) {
#pragma unroll
      for (int j = 0; j < kUnroll; ++j) sum += measure(id + 32 * j);
    }
    for (; id < segmentEnd; id += 32) sum += measure(id);
    sum = warpSum64(sum);
    __syncthreads();
    if (lane == 0) scratch.warpSums[warp] = sum;
    __syncthreads();
    if (first) {
      uint64_t total = 0;
#pragma unroll
      for (int i = 0; i < kWarps; ++i) total += scratch.warpSums[i];
      if (total == 0) return 0;
      target = targetOf(total);
    }
    int segment = 0;
    for (; segment < kWarps - 1 && scratch.warpSums[segment] <= target; ++segment) target -= scratch.warpSums[segment];
    begin += segment * length;
    end = min(end, begin + length);
  }
  int id = begin + static_cast<int>(threadIdx.x);
  uint64_t own = id < end ? measure(id) : 0;
  uint64_t sum = blockScan(own, scratch);
  if (sum > target && sum - own <= target) scratch.found = id;
  __syncthreads();
  return static_cast<int>(scratch.found);
}

}  // namespace octavo::cuda::sampling
