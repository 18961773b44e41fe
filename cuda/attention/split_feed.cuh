// The warp that feeds: has the slices of units brought to shared memory, stage after stage.
#pragma once

#include "cuda/attention/split_code_source.cuh"

namespace octavo::cuda::split {

template <typename Source>
class Feed {
 public:
  using Shape = typename Source::Shape;

  __device__ __forceinline__ Feed(const Arguments& a, const CUtensorMap* map, uint8_t* shared)
      : a_(a), map_(map), units_(shared), at_(ptx::sharedAddress(shared)) {}

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
    const Unit& unit = dealt.unit;
    const int lane = static_cast<int>(threadIdx.x % 32);
    const int end = unit.endSlice(), head = unit.head, firstKey = unit.firstKey;
    const Visible keys{unit.first, unit.end};
    int windowStart = unit.firstChunk * unit.chunk, window = dealt.entries[lane], next = dealt.entries[lane + 32];
    float2 scales = scalesOf(window, head);
#pragma unroll 1
    for (int slice = windowStart; slice < end; slice += Shape::kWarps) {
      if (slice - windowStart == 32) {
        windowStart = slice;
        window = next;
        next = blockOf(a_, unit, slice + 32 + lane);
        scales = scalesOf(window, head);
      }
      ptx::waitBarrier(units_.barriers.empty(stage_.at), stage_.parity ^ 1);
      const uint32_t full = units_.barriers.full(stage_.at);
      const int count = min(Shape::kWarps, end - slice);
      const uint32_t stageScales = at_ + stage_.at * Shape::kStageBytes + Shape::kScalesAt;
      putScales(stageScales, lane - (slice - windowStart), count, scales);
      Source::begin(full, count);
#pragma unroll
      for (int i = 0; i < Shape::kWarps; ++i) {
        const int block = __shfl_sync(0xffffffffu, window, slice - windowStart + i);
        if (i >= count) break;
        const int key = firstKey + (slice + i) * kSliceKeys;
        const int row = key & ((kSliceKeys << a_.blockShift) - 1);
        const uint32_t to = at_ + stage_.at * Shape::kStageBytes + i * Shape::kSliceBytes;
        if constexpr (Shape::kCoded) {
          Source::fetch(a_, map_, to, stageScales + i * Shape::kSliceScaleBytes, full, block, head, row);
        } else {
          Source::fetch(a_, map_, to, full, block, head, row, {keys.first - key, keys.end - key});
        }
      }
      Source::finish(full);
      stage_.advance();
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
};

}  // namespace octavo::cuda::split
