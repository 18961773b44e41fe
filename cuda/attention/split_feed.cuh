// The warp that feeds: has the slices of units brought to shared memory, stage after stage.
#pragma once

#include "cuda/attention/split_ring.cuh"

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
#pragma unroll 1
    for (int slice = windowStart; slice < end; slice += Shape::kWarps) {
      if (slice - windowStart == 32) {
        windowStart = slice;
        window = next;
        next = blockOf(a_, unit, slice + 32 + lane);
      }
      ptx::waitBarrier(units_.barriers.empty(stage_.at), stage_.parity ^ 1);
      const uint32_t full = units_.barriers.full(stage_.at);
      const int count = min(Shape::kWarps, end - slice);
      Source::begin(full, count);
#pragma unroll
      for (int i = 0; i < Shape::kWarps; ++i) {
        const int block = __shfl_sync(0xffffffffu, window, slice - windowStart + i);
        if (i >= count) break;
        const int key = firstKey + (slice + i) * kSliceKeys;
        const int row = key & ((kSliceKeys << a_.blockShift) - 1);
        const uint32_t to = at_ + stage_.at * Shape::kStageBytes + i * Shape::kSliceBytes;
        Source::fetch(a_, map_, to, full, block, head, row, {keys.first - key, keys.end - key});
      }
      Source::finish(full);
      stage_.advance();
    }
  }

  const Arguments& a_;
  const CUtensorMap* const map_;
  UnitReader<Shape> units_;
  const uint32_t at_;
  Turn<Shape::kStages> stage_;
};

}  // namespace octavo::cuda::split
