// The warp that feeds: has the slices of units brought to shared memory, stage after stage.
#pragma once

#include "cuda/attention/split_code_source.cuh"

namespace octavo::cuda::split {

template <typename Source>
class Feed {
 public:
  using Shape = typename Source::Shape;

  __device__ __forceinline__ Feed(const Arguments& a, const CUtensorMap* map, uint8_t* shared)
      : a_(a), map_(map), units_(shared), at_(ptx::sharedAddress(shared)) {
    if constexpr (Source::kTensor) policy_ = ptx::evictFirstPolicy();
  }

  __device__ __forceinline__ void run() {
    Source::prepare(map_);
#pragma unroll 1
    for (;;) {
      const Dealt& dealt = units_.next();
      if (dealt.unit.chunks == 0) return;
      feed(dealt);
      units_.done();
    }
  }

 private:
  __device__ __forceinline__ void feed(const Dealt& dealt) {
    const Unit unit = dealt.unit;
    const int lane = static_cast<int>(threadIdx.x % 32);
    const int end = unit.endSlice();
    int windowStart = unit.firstChunk * unit.chunk, window = dealt.entries[lane], next = dealt.entries[lane + 32];
    float2 scales = scalesOf(window, unit.head);
#pragma unroll 1
    for (int slice = windowStart; slice < end; slice += Shape::kWarps) {
      if (slice - windowStart == 32) {
        windowStart = slice;
        window = next;
        next = blockOf(a_, unit, slice + 32 + lane);
        scales = scalesOf(window, unit.head);
      }
      ptx::waitBarrier(units_.barriers.empty(stage_.at), stage_.parity ^ 1);
      const uint32_t full = units_.barriers.full(stage_.at);
      const int count = min(Shape::kWarps, end - slice);
      const uint32_t stage = at_ + stage_.at * Shape::kStageBytes;
      putScales(stage + Shape::kScalesAt, lane - (slice - windowStart), count, scales);
      Source::begin(full, count);
      if constexpr (Source::kTensor) fetchEach(unit, stage, full, window, slice, slice - windowStart, count);
      else fetchTogether(unit, stage, window, slice, slice - windowStart, count);
      Source::finish(full);
      stage_.advance();
    }
  }

  /** Where a slice of the unit lies in its block. */
  __device__ __forceinline__ int rowOf(const Unit& unit, int slice) const {
    return (unit.firstKey + slice * kSliceKeys) & ((kSliceKeys << a_.blockShift) - 1);
  }

  /** A stage from `slice` on, each slice by a lane. `window`: of the lane's slice, the stage's first one at `place`. */
  __device__ __forceinline__ void fetchEach(const Unit& unit, uint32_t stage, uint32_t full, int window, int slice,
                                            int place, int count) const {
    const int lane = static_cast<int>(threadIdx.x % 32), mine = lane % Shape::kWarps;
    const int block = __shfl_sync(0xffffffffu, window, place + mine), row = rowOf(unit, slice + mine);
    if (lane < count) Source::fetch(a_, map_, stage + mine * Shape::kSliceBytes, full, block, unit.head, row, policy_);
    if constexpr (Shape::kCoded) {
      if constexpr (Source::kHasKeyScales) {
        static_assert(Shape::kWarps * Source::kScaleLanes <= 32);
        const int scaled = lane / Source::kScaleLanes, from = __shfl_sync(0xffffffffu, window, place + scaled);
        if (scaled >= count) return;
        Source::fetchScales(a_, stage + Shape::kScalesAt, from, unit.head, rowOf(unit, slice + scaled));
      }
    }
  }

  /** The same, each slice by all lanes. */
  __device__ __forceinline__ void fetchTogether(const Unit& unit, uint32_t stage, int window, int slice, int place,
                                                int count) const {
#pragma unroll
    for (int i = 0; i < Shape::kWarps; ++i) {
      const int block = __shfl_sync(0xffffffffu, window, place + i);
      if (i >= count) break;
      const int key = unit.firstKey + (slice + i) * kSliceKeys;
      const Visible visible{unit.first - key, unit.end - key};
      Source::fetch(a_, stage + i * Shape::kSliceBytes, block, unit.head, rowOf(unit, slice + i), visible);
    }
  }

  /** Of the keys and values of a head in the lane's block, where a block has one of each. */
  __device__ __forceinline__ float2 scalesOf(int block, int head) const {
    if (Source::kCode != DType::kE4M3 || !a_.cache.hasScales()) return make_float2(1, 1);
    return make_float2(*a_.cache.scales(block, 0, head), *a_.cache.scales(block, 1, head));
  }
  /** Those of the stage's slices, of which the lane's is number `slice`, before the stage is announced. */
  __device__ __forceinline__ void putScales(uint32_t to, int slice, int count, float2 scales) const {
    if (Source::kCode != DType::kE4M3 || !a_.cache.hasScales()) return;
    if (slice >= 0 && slice < count) {
      ptx::storeShared(to + slice * Shape::kSliceScaleBytes, scales.x);
      ptx::storeShared(to + slice * Shape::kSliceScaleBytes + kSliceKeys * sizeof(float), scales.y);
    }
    __syncwarp();
  }

  const Arguments& a_;
  const CUtensorMap* const map_;
  UnitReader<Shape> units_;
  const uint32_t at_;
  Turn<Shape::kStages> stage_;
  uint64_t policy_ = 0;  // keys and values are read once
};

}  // namespace octavo::cuda::split
