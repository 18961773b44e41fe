// Brings the slices of a worker to shared memory, several ahead of their use and across the borders of items.
#pragma once

#include "cuda/attention/split_ring.cuh"

namespace octavo::cuda::split {

template <typename Source>
class Feed {
 public:
  static constexpr int kStages = Source::Shape::kStages;

  __device__ __forceinline__ Feed(const Arguments& a, const Source& source, const Segment& first, int lineEnd)
      : a_(a), source_(source), segment_(first), lineEnd_(lineEnd) {
    begin();
  }

  /** Whether no slice is left but the `used` first. */
  __device__ __forceinline__ bool isDrained(int used) const { return segment_.isEmpty() && used == issued_; }

  /** Starts the copy of the next slice, if there is one. */
  __device__ __forceinline__ void issue() {
    if (!segment_.isEmpty()) {
      fetch();
      if (++slice_ == segment_.end) {
        advance(a_, segment_, lineEnd_);
        begin();
      }
    }
    source_.commit();
    stage_ = stage_ + 1 == kStages ? 0 : stage_ + 1;
  }

 private:
  __device__ __forceinline__ void begin() {
    if (segment_.isEmpty()) return;
    slice_ = segment_.begin;
    head_ = segment_.item / a_.shares;
    windowStart_ = segment_.keys.firstSlice + slice_;
    window_ = entries(windowStart_);
    next_ = entries(windowStart_ + 32);
  }

  /** The block of slice `first + lane`. */
  __device__ __forceinline__ int entries(int first) const {
    int slice = first + static_cast<int>(threadIdx.x % 32);
    if (slice >= segment_.keys.firstSlice + segment_.end) return 0;
    int64_t row = static_cast<int64_t>(segment_.sequence) * a_.batch.tableStride;
    return a_.batch.blockTable[row + (slice >> a_.blockShift)];
  }

  __device__ __forceinline__ void fetch() {
    int slice = segment_.keys.firstSlice + slice_;
    if (slice - windowStart_ == 32) {
      windowStart_ = slice;
      window_ = next_;
      next_ = entries(slice + 32);
    }
    int block = __shfl_sync(0xffffffffu, window_, slice - windowStart_);
    int row = (slice & ((1 << a_.blockShift) - 1)) * kSliceKeys;
    source_.fetch(stage_, block, head_, row, visibleIn(segment_.keys, slice));
    ++issued_;
  }

  const Arguments& a_;
  const Source& source_;
  Segment segment_;
  int lineEnd_;
  int stage_ = 0, slice_ = 0, head_ = 0, issued_ = 0;
  int windowStart_ = 0, window_ = 0, next_ = 0;  // blocks of 32 slices, one a lane, and of the 32 that follow
};

}  // namespace octavo::cuda::split
