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
  /** Copies begin at multiples of 16 bytes. */
  __device__ __forceinline__ static int firstScale(const Place& place) { return place.row & ~3; }
  __device__ __forceinline__ uint32_t scaleBytes(const Place& place) const {
    if (kScaling == Scaling::kRow) return 0;
    return min(S::kScaleBytes, max(0, a.xScaleStride - firstScale(place)) * 4);
  }

  /** Whether a half of the tile's rows is there: zeros are slow to bring to two blocks. */
  __device__ __forceinline__ bool isInside(const Place& place, int half) const {
    return place.row + half * (S::kRows / 2) < place.endRow;
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
      ptx::loadTileShared(to + half * kDepth, &a.weight, full(slot), step * kDepth, place.weightRow + half, 3);
    } else {
      ptx::loadTile(to, &a.weight, full(slot), step * kDepth, place.weightRow);
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
      const float* from = a.xScales + static_cast<int64_t>(step) * a.xScaleStride + firstScale(place);
      ptx::loadBytes(shared.scales + slot.index * S::kScaleBytes, from, scaleBytes(place), full(slot));
    }
  }

  /**
   * The weight does not depend on the kernel before, which makes x: a whole ring of it is under way before x is. Which
   * weight it is may depend on it where rows belong to experts.
   */
  __device__ __forceinline__ void run() const {
    Slot<S> slot, late;
    Tiles<S> tiles(work);
    Place place;
    if constexpr (S::kGrouped) ptx::waitForPredecessors();
    bool isThere = tiles.next(place);
    int done = 0;
    if (!S::kGrouped && isThere) {
      for (; done < min(S::kStages, work.steps()); ++done, slot.advance()) {
        announce(slot, place);
        loadWeight(slot, place, work.firstStep + done);
      }
    }
    if constexpr (!S::kGrouped) ptx::waitForPredecessors();
    for (int step = 0; step < done; ++step, late.advance()) loadX(late, place, work.firstStep + step);
    for (; isThere; isThere = tiles.next(place), done = 0) {
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
