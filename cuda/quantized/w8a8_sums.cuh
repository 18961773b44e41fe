// What a warpgroup multiplies and adds up.
#pragma once

#include "cuda/device/floats.cuh"
#include "cuda/ptx/shared_memory.cuh"
#include "cuda/ptx/wgmma.cuh"
#include "cuda/ptx/wgmma_codes.cuh"
#include "cuda/quantized/w8a8_tile.cuh"

namespace octavo::cuda::w8a8 {

/** Who a thread is. */
struct Lane {
  int group, warp, lane;  // warpgroup; warp of it
  __device__ __forceinline__ Lane()
      : group(__shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / 128 - 1, 0)),  // known to be one of the warp
        warp(threadIdx.x / 32 % 4),
        lane(threadIdx.x % 32) {}
  /** Of its first element within a tile of 64 rows; the others lie 8 below, and at 8i and 8i + 1. */
  __device__ __forceinline__ int row() const { return warp * 16 + lane / 4; }
  __device__ __forceinline__ int column() const { return lane % 4 * 2; }
};

/** The slot is free again, in every block that wrote to it. One call a warp. */
template <typename S>
__device__ __forceinline__ void release(const Shared<S>& shared, int index) {
  uint32_t barrier = shared.empty + index * 8;
  int lane = threadIdx.x % 32;
  if constexpr (S::kPairing == Pairing::kX || S::kPairing == Pairing::kWeight) {
    if (lane < 2) ptx::arriveRemoteUnordered(ptx::addressIn(barrier, lane));
  } else {
    if (lane == 0) ptx::arrive(barrier);
  }
}

/** d[64 × N] = x[64 × 128] · weight[N × 128]ᵀ, or added to d. */
template <typename Codes, int kSums>
__device__ __forceinline__ void multiplyStage(typename Codes::Sum (&d)[kSums], uint32_t x, uint32_t weight, bool adds) {
  uint64_t left = ptx::tileDescriptor(x), right = ptx::tileDescriptor(weight);
  ptx::fenceProducts();
#pragma unroll
  for (int part = 0; part < kDepth / 32; ++part) {
    ptx::multiplyCodes(Codes(), d, left + 2 * part, right + 2 * part, adds || part > 0);
  }
  ptx::commitProducts();
}

/**
 * Scales of the weight's block of 128 rows, one a step. A lane holds every 32nd of them, and the next 32 are on their
 * way: under load the L2 takes longer to answer than a step lasts.
 */
struct BlockScales {
  const Arguments& a;
  int base, step;
  float held, next;

  /** For the columns from `offset` on of the tile at `place`. */
  __device__ __forceinline__ BlockScales(const Arguments& arguments, const Place& place, int offset, int firstStep)
      : a(arguments), step(firstStep) {
    int inside = min(offset, static_cast<int>(a.out.columns) - 1 - place.column);
    base = (place.weightRow + inside) / kDepth * a.steps;
    held = at(step + threadIdx.x % 32);
    next = at(step + 32 + threadIdx.x % 32);
  }
  __device__ __forceinline__ float at(int from) const {
    return from < a.steps ? loadFloat(a.weightScales.data, a.weightScales.dtype, base + from) : 0.0f;
  }
  /** Of one step after the other; `index` counts them from 0. */
  __device__ __forceinline__ float take(int index) {
    float scale = __shfl_sync(0xffffffffu, held, index & 31);
    if ((index & 31) == 31) {
      held = next;
      next = at(step + index + 33 + threadIdx.x % 32);
    }
    return scale;
  }
};

template <int kTiles, typename Sum, int kSums>
__device__ __forceinline__ void clear(Sum (&sums)[kTiles][kSums]) {
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
    for (int i = 0; i < kSums; ++i) sums[tile][i] = 0;
  }
}

/**
 * e4m3: products of 128 along K are summed by the tensor cores, those sums in fp32. With block scales each is scaled
 * first.
 */
template <typename S, Scaling kScaling>
struct PromotedSums {
  static constexpr bool kScales = kScaling == Scaling::kBlock;
  /** Of one stage and 64 rows, on their way. */
  struct Products {
    float sums[S::kSums];
    float upper, lower;  // scales of the rows
    int slot;
  };

  const Shared<S>& shared;
  const Lane& lane;
  Slot<S>& slot;
  BlockScales weightScales;
  int rowOffset, columnOffset, scaleOffset, step;

  __device__ __forceinline__ PromotedSums(const Arguments& a, const Shared<S>& shared, const Work<S>& work,
                                          const Place& place, const Lane& lane, Slot<S>& slot)
      : shared(shared),
        lane(lane),
        slot(slot),
        weightScales(a, place, S::kAlongRows ? 0 : lane.group * S::kGroupColumns, kScales ? work.firstStep : a.steps),
        rowOffset(S::kAlongRows ? lane.group * S::kGroupRows : 0),
        columnOffset(S::kAlongRows ? 0 : lane.group * S::kGroupColumns),
        scaleOffset((rowOffset + lane.row() + (S::kGrouped ? place.row & 3 : 0)) * 4),
        step(0) {}

  __device__ __forceinline__ void start(Products& products, const Slot<S>& slot, int tile, float weightScale,
                                        bool adds) {
    uint32_t x = shared.stages + slot.index * S::kStageBytes, weight = x + S::kXBytes + columnOffset * kDepth;
    int row = rowOffset + tile * 64;
    multiplyStage<ptx::E4m3Codes>(products.sums, x + row * kDepth, weight, adds);
    if constexpr (kScales) {
      uint32_t scales = shared.scales + slot.index * S::kScaleBytes + scaleOffset + tile * 256;
      products.upper = weightScale * ptx::loadShared(scales);
      products.lower = weightScale * ptx::loadShared(scales + 32);
    }
    products.slot = slot.index;
  }

  __device__ __forceinline__ void awaitStage() { ptx::waitBarrier(shared.full + slot.index * 8, slot.parity); }

  __device__ __forceinline__ void startStage(Products& products) {
    float weightScale = kScales ? weightScales.take(step++) : 1.0f;
    awaitStage();
    start(products, slot, 0, weightScale, false);
    slot.advance();
  }

  __device__ __forceinline__ static void promote(float (&sums)[S::kSums], const Products& products) {
#pragma unroll
    for (int i = 0; i < S::kSums; ++i) {
      if constexpr (kScales) sums[i] = fmaf(products.sums[i], i & 2 ? products.lower : products.upper, sums[i]);
      else sums[i] += products.sums[i];
    }
  }

  template <int kPending>
  __device__ __forceinline__ void finishStage(float (&sums)[S::kSums], Products& products) {
    ptx::waitProducts<kPending>();
    ptx::pinSums(products.sums);
    release<S>(shared, products.slot);
    promote(sums, products);
  }

  /** Two stages are on their way: one is multiplied while the one before is added up. */
  __device__ __forceinline__ void run(float (&sums)[S::kSums], int steps) {
    if (steps == 0) return;
    Products even, odd;
    startStage(even);
    int done = 1;
    for (; done + 1 < steps; done += 2) {
      startStage(odd);
      finishStage<1>(sums, even);
      startStage(even);
      finishStage<1>(sums, odd);
    }
    if (done < steps) {
      startStage(odd);
      finishStage<1>(sums, even);
      finishStage<0>(sums, odd);
    } else {
      finishStage<0>(sums, even);
    }
  }

  /**
   * Several tiles of 64 rows leave registers for the products of one: the other warpgroup multiplies meanwhile. kStages
   * stages are summed before they are added up.
   */
  template <int kStages>
  __device__ __forceinline__ void runTiles(float (&sums)[S::kTiles][S::kSums], int steps) {
    for (int done = 0; done < steps; done += kStages) {
      float weightScale = kScales ? weightScales.take(step++) : 1.0f;
      Slot<S> slots[kStages];
      int count = min(kStages, steps - done);
#pragma unroll
      for (int i = 0; i < kStages; ++i) {
        slots[i] = slot;
        if (i >= count) break;
        awaitStage();
        slot.advance();
      }
#pragma unroll
      for (int tile = 0; tile < S::kTiles; ++tile) {
        Products products;
        start(products, slots[0], tile, weightScale, false);
        if (kStages > 1 && count > 1) start(products, slots[kStages - 1], tile, weightScale, true);
        ptx::waitProducts<0>();
        ptx::pinSums(products.sums);
        if (tile == S::kTiles - 1) {
          release<S>(shared, slots[0].index);
          if (kStages > 1 && count > 1) release<S>(shared, slots[kStages - 1].index);
        }
        promote(sums[tile], products);
      }
    }
  }
};

/** int8: exact sums, which the tensor cores keep. */
template <typename S>
__device__ __forceinline__ void sumExact(int32_t (&sums)[S::kTiles][S::kSums], const Shared<S>& shared,
                                         const Work<S>& work, const Lane& lane, Slot<S>& slot) {
  int rowOffset = S::kAlongRows ? lane.group * S::kGroupRows : 0;
  int columnOffset = S::kAlongRows ? 0 : lane.group * S::kGroupColumns, previous = -1;
  for (int step = work.firstStep; step < work.endStep; ++step, slot.advance()) {
    uint32_t x = shared.stages + slot.index * S::kStageBytes, weight = x + S::kXBytes + columnOffset * kDepth;
    ptx::waitBarrier(shared.full + slot.index * 8, slot.parity);
#pragma unroll
    for (int tile = 0; tile < S::kTiles; ++tile) {
      multiplyStage<ptx::Int8Codes>(sums[tile], x + (rowOffset + tile * 64) * kDepth, weight, true);
    }
    ptx::waitProducts<S::kTiles>();  // the step before is done
    if (previous >= 0) release<S>(shared, previous);
    previous = slot.index;
  }
  ptx::waitProducts<0>();
#pragma unroll
  for (int tile = 0; tile < S::kTiles; ++tile) ptx::pinSums(sums[tile]);
  if (previous >= 0) release<S>(shared, previous);
}

}  // namespace octavo::cuda::w8a8
