// Brings the slices of a worker to shared memory, several ahead of their use and across the borders of items.
#pragma once

#include "cuda/attention/split_schedule.cuh"
#include "cuda/attention/split_softmax.cuh"

namespace octavo::cuda::split {

/** The ring of one kernel: what it holds in flight must cover the latency of memory at full bandwidth. */
template <int kDim>
struct Ring {
  static constexpr int kWarps = kDim <= 64 ? 8 : 4;
  static constexpr int kSliceBytes = kSliceKeys * kRowBytes<kDim>;  // of keys or of values
  static constexpr int kStageBytes = 2 * kSliceBytes;

  static __host__ __device__ constexpr int stages(int architecture) {
    int budget = (architecture >= 90 ? 224 : 160) << 10;
    int fit = budget / (kWarps * kStageBytes);
    return fit < 8 ? fit : 8;
  }
  static __host__ __device__ constexpr int bytes(int architecture) {
    return kWarps * stages(architecture) * kStageBytes;
  }
};

__device__ __forceinline__ Visible visibleIn(const Keys& keys, int slice) {
  int firstKey = slice * kSliceKeys;
  return {keys.first - firstKey, keys.end - firstKey};
}

template <int kDim, int kStages>
class Feed {
 public:
  /** `stages`: shared address of this warp's ring. */
  __device__ __forceinline__ Feed(const Arguments& a, const Segment& first, int64_t lineEnd, uint32_t stages)
      : a_(a), segment_(first), lineEnd_(lineEnd), stages_(stages) {
    begin();
  }

  /** Starts the copy of the next slice, if there is one; always one group of copies. */
  __device__ __forceinline__ void issue() {
    if (!segment_.isEmpty()) {
      copy();
      if (++slice_ == segment_.end) {
        advance(a_, segment_, lineEnd_);
        begin();
      }
    }
    ptx::commitCopies();
    stage_ = stage_ + 1 == kStages ? 0 : stage_ + 1;
  }

 private:
  static constexpr int kChunksPerRow = kDim / 8;

  __device__ __forceinline__ void begin() {
    if (segment_.isEmpty()) return;
    slice_ = segment_.begin;
    windowStart_ = segment_.keys.firstSlice + slice_;
    window_ = entries(windowStart_);
    next_ = entries(windowStart_ + 32);
  }

  /** The block of slice `first + lane`. */
  __device__ __forceinline__ int entries(int first) const {
    int slice = first + static_cast<int>(threadIdx.x % 32);
    if (slice >= segment_.keys.firstSlice + segment_.end) return 0;
    int64_t row = static_cast<int64_t>(segment_.sequence) * a_.batch.tableStride;
    return a_.batch.blockTable[row + slice * kSliceKeys / a_.cache.blockSize];
  }

  __device__ __forceinline__ void copy() {
    int slice = segment_.keys.firstSlice + slice_;
    if (slice - windowStart_ == 32) {
      windowStart_ = slice;
      window_ = next_;
      next_ = entries(slice + 32);
    }
    int block = __shfl_sync(0xffffffffu, window_, slice - windowStart_);
    int row = slice * kSliceKeys % a_.cache.blockSize;
    const uint16_t* from = static_cast<const uint16_t*>(a_.cache.data) + block * a_.cache.blockStride +
                           segment_.item / a_.shares * a_.cache.headStride + row * kDim;
    Visible visible = visibleIn(segment_.keys, slice);
    uint32_t to = stages_ + stage_ * Ring<kDim>::kStageBytes;
    copyRows(to, from + a_.cache.keyStart, visible);
    copyRows(to + Ring<kDim>::kSliceBytes, from + a_.cache.valueStart, visible);
  }

  /** Zeros where nothing is visible: what the cache holds there may be NaN. */
  __device__ __forceinline__ void copyRows(uint32_t to, const uint16_t* from, Visible visible) const {
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < kDim / 16; ++i) {
      int index = i * 32 + lane, row = index / kChunksPerRow, chunk = index % kChunksPerRow;
      bool valid = row >= visible.first && row < visible.end;
      ptx::copyAsync(to + row * kRowBytes<kDim> + chunk * 16, from + index * 8, valid);
    }
  }

  const Arguments& a_;
  Segment segment_;
  int64_t lineEnd_;
  uint32_t stages_;
  int stage_ = 0, slice_ = 0;
  int windowStart_ = 0, window_ = 0, next_ = 0;  // blocks of 32 slices, one a lane, and of the 32 that follow
};

}  // namespace octavo::cuda::split
