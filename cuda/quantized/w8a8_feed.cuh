// The one thread that keeps the ring filled.
#pragma once

#include "cuda/ptx/tma.cuh"
#include "cuda/quantized/w8a8_tile.cuh"

namespace octavo::cuda::w8a8 {

template <typename S, Scaling kScaling>
struct Feed {
  const Arguments& a;
  const Shared<S>& shared;
  const Work<S>& work;

  __device__ __forceinline__ uint32_t full(const Slot<S>& slot) const { return shared.full + slot.index * 8; }
  __device__ __forceinline__ uint32_t scaleBytes(const Place& place) const {
    if (kScaling == Scaling::kRow) return 0;
    return static_cast<uint32_t>(max(0, min(S::kRows, a.xScaleStride - place.row))) * 4;
  }

  /** Whether a half of the tile's rows is there: zeros are slow to bring to two blocks. */
  __device__ __forceinline__ bool isInside(const Place& place, int half) const {
    return place.row + half * (S::kRows / 2) < a.out.rows;
  }

  __device__ __forceinline__ void announce(const Slot<S>& slot, const Place& place) const {
    uint32_t boxes = S::kPairing == Pairing::kX ? (isInside(place, 0) ? 1 : 0) + (isInside(place, 1) ? 1 : 0) : 1;
    uint32_t x = boxes * static_cast<uint32_t>(a.boxRows) * kDepth;
    ptx::arriveExpecting(full(slot), x + S::kWeightBytes + scaleBytes(place));
  }

  __device__ __forceinline__ void loadWeight(const Slot<S>& slot, const Place& place, int step) const {
    uint32_t to = shared.stages + slot.index * S::kStageBytes + S::kXBytes;
    if constexpr (S::kPairing == Pairing::kWeight) {
      int half = work.rank * (S::kColumns / 2);
      ptx::loadTileShared(to + half * kDepth, &a.weight, full(slot), step * kDepth, place.column + half, 3);
    } else {
      ptx::loadTile(to, &a.weight, full(slot), step * kDepth, place.column);
    }
  }

  __device__ __forceinline__ void loadX(const Slot<S>& slot, const Place& place, int step) const {
    uint32_t to = shared.stages + slot.index * S::kStageBytes;
    if constexpr (S::kPairing == Pairing::kX) {
      int half = work.rank * (S::kRows / 2);
      if (isInside(place, work.rank)) {
        ptx::loadTileShared(to + half * kDepth, &a.x, full(slot), step * kDepth, place.row + half, 3);
      }
    } else {
      ptx::loadTile(to, &a.x, full(slot), step * kDepth, place.row);
    }
    if (scaleBytes(place) > 0) {
      const float* from = a.xScales + static_cast<int64_t>(step) * a.xScaleStride + place.row;
      ptx::loadBytes(shared.scales + slot.index * S::kScaleBytes, from, scaleBytes(place), full(slot));
    }
  }

  /** The weight does not depend on the kernel before, which makes x: a whole ring of it is under way before x is. */
  __device__ __forceinline__ void run() const {
    Slot<S> slot, late;
    int ahead = min(S::kStages, work.endStep - work.firstStep), done = 0;
    Place place = work.place(work.first);
    if (work.first < work.count) {
      for (; done < ahead; ++done, slot.advance()) {
        announce(slot, place);
        loadWeight(slot, place, work.firstStep + done);
      }
    }
    ptx::waitForPredecessors();
    for (int step = 0; step < done; ++step, late.advance()) loadX(late, place, work.firstStep + step);
    for (int index = work.first; index < work.count; index += work.stride, done = 0) {
      place = work.place(index);
      for (int step = work.firstStep + done; step < work.endStep; ++step, slot.advance()) {
        ptx::waitBarrier(shared.empty + slot.index * 8, slot.parity ^ 1);
        announce(slot, place);
        loadWeight(slot, place, step);
        loadX(slot, place, step);
      }
    }
  }
};

}  // namespace octavo::cuda::w8a8
