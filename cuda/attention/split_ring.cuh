// The ring in which slices arrive, the two ways to bring them there, and the other places where warps meet.
#pragma once

#include <type_traits>

#include "cuda/attention/split_codes.cuh"
#include "cuda/ptx/mbarrier.cuh"
#include "cuda/ptx/tma.cuh"
#include "ops/attention_scratch.h"

namespace octavo::cuda::split {

/** A unit, and the blocks of its first slices. */
struct alignas(16) Dealt {
  Unit unit;
  int entries[64];
};

/**
 * Who works in a block, and where things lie in shared memory. Warps 0 to kAdders − 1 add slices; then come the warps
 * that finish what these have made, each with its dims; one deals, and the last one feeds. A stage holds a slice for
 * each of the first kWarps. Where an item has 32 rows, kWarps more add the same slices with the other half of the rows:
 * one warp's registers leave no room to have fragments under way, and two hide each other's waits.
 */
template <int kDim, int kTiles, bool kTensor, DType kCode = DType::kF32>
struct Shape {
  static constexpr bool kCoded = isCode(kCode);
  using Rows = std::conditional_t<kCoded, CodeRows<kDim>, SliceRows<kDim, kTensor>>;
  static constexpr float kWeightShift = kCoded ? KeyScales::kShift : NoScales::kShift;
  static constexpr int kWarps = kDim <= 128 || kTensor ? 4 : 2;  // slices in a stage
  static constexpr int kFinishers = AttentionScratchLayout::kFinishers;
  static constexpr int kHalves = kTiles == 4 ? 2 : 1, kWarpTiles = kTiles / kHalves, kAdders = kWarps * kHalves;
  static constexpr int kThreads = (kAdders + kFinishers + 2) * 32;
  static constexpr int kSliceBytes = 2 * Rows::kBytes, kScalesAt = kWarps * kSliceBytes;
  static constexpr int kSliceScaleBytes = 2 * kSliceKeys * static_cast<int>(sizeof(float));
  static constexpr int kStageBytes = kScalesAt + (kCoded ? 1024 : 0);  // swizzled rows start at a multiple of 1024
  /** The states of a slice's warps on their way to the finishers. */
  static constexpr int kStateBytes = (kDim / 16 + 1) * kTiles * 32 * 16;
  static constexpr int kUnits = 3;  // dealt, and not done
  static constexpr int kQueryBytes = kTiles * 8 * (kDim * 2 + 16);  // rows padded
  static constexpr int kTableBytes = kNearSequences * 12 + kUnits * static_cast<int>(sizeof(Dealt)) + 256;
  static constexpr int kFree = ((kTensor ? 227 : 163) << 10) - 1024 - kTableBytes - kUnits * kQueryBytes;
  static constexpr int stages(int states) {
    int fit = (kFree - states * kWarps * kStateBytes) / kStageBytes;
    return fit < 8 ? fit : 8;
  }
  static constexpr int kStates = stages(2) >= 4 ? 2 : 1;
  static constexpr int kStages = stages(kStates);
  static_assert(kStages >= 2);
  static constexpr int kStatesAt = kStages * kStageBytes, kQueryAt = kStatesAt + kStates * kWarps * kStateBytes;
  static constexpr int kUnitsAt = kQueryAt + kUnits * kQueryBytes;
  static constexpr int kNearAt = kUnitsAt + kUnits * static_cast<int>(sizeof(Dealt));
  static constexpr int kBarriersAt = kUnitsAt + kTableBytes - 256;
  static_assert(kNearAt + kNearSequences * 12 <= kBarriersAt);
  static constexpr int kBytes = kUnitsAt + kTableBytes + 1024;  // swizzled rows start at a multiple of 1024
};

/** Where the warps of a block wait for each other. */
template <typename Shape>
struct Barriers {
  uint32_t first;
  __device__ __forceinline__ explicit Barriers(uint32_t shared) : first(shared + Shape::kBarriersAt) {}
  __device__ __forceinline__ uint32_t full(int stage) const { return first + stage * 8; }
  __device__ __forceinline__ uint32_t empty(int stage) const { return first + 64 + stage * 8; }
  __device__ __forceinline__ uint32_t stateFull(int state) const { return first + 128 + state * 8; }
  __device__ __forceinline__ uint32_t stateFree(int state) const { return first + 144 + state * 8; }
  __device__ __forceinline__ uint32_t unitFull(int unit) const { return first + 160 + unit * 8; }
  __device__ __forceinline__ uint32_t unitFree(int unit) const { return first + 192 + unit * 8; }

  /** By one thread. `copiers`: arrivals that fill a stage. */
  __device__ __forceinline__ void init(int copiers) const {
    for (int i = 0; i < Shape::kStages; ++i) {
      ptx::initBarrier(full(i), copiers);
      ptx::initBarrier(empty(i), Shape::kAdders);
    }
    for (int i = 0; i < Shape::kStates; ++i) {
      ptx::initBarrier(stateFull(i), Shape::kAdders);
      ptx::initBarrier(stateFree(i), Shape::kFinishers);
    }
    for (int i = 0; i < Shape::kUnits; ++i) {
      ptx::initBarrier(unitFull(i), 1);
      ptx::initBarrier(unitFree(i), Shape::kAdders + Shape::kFinishers + 1);
    }
    ptx::fenceBarriers();
  }
};

/** A place in a ring and how often it has come round, from the side of who fills it or of who empties it. */
template <int kPlaces>
struct Turn {
  int at = 0;
  uint32_t parity = 0;
  __device__ __forceinline__ void advance() {
    if (++at < kPlaces) return;
    at = 0;
    parity ^= 1;
  }
};

/** A warp arrives once, after all its lanes. */
__device__ __forceinline__ void arriveAsWarp(uint32_t barrier) {
  __syncwarp();
  if (threadIdx.x % 32 == 0) ptx::arrive(barrier);
}

/** Units of a block in the order in which they are dealt. */
template <typename Shape>
struct UnitReader {
  uint8_t* shared;
  Barriers<Shape> barriers;
  Turn<Shape::kUnits> turn;

  __device__ __forceinline__ explicit UnitReader(uint8_t* shared)
      : shared(shared), barriers(ptx::sharedAddress(shared)) {}
  __device__ __forceinline__ const Dealt& next() const {
    ptx::waitBarrier(barriers.unitFull(turn.at), turn.parity);
    return reinterpret_cast<const Dealt*>(shared + Shape::kUnitsAt)[turn.at];
  }
  __device__ __forceinline__ uint32_t query() const {
    return ptx::sharedAddress(shared) + Shape::kQueryAt + turn.at * Shape::kQueryBytes;
  }
  __device__ __forceinline__ void done() {
    arriveAsWarp(barriers.unitFree(turn.at));
    turn.advance();
  }
};

/** By cp.async of all lanes (sm_80 and later), to padded rows. */
template <int kDim, int kTiles>
struct CopySource {
  static constexpr bool kTensor = false;
  static constexpr DType kCode = DType::kF32;
  static constexpr int kArrivals = 32;
  using Shape = split::Shape<kDim, kTiles, kTensor>;

  static __device__ __forceinline__ void prepare(const CUtensorMap*) {}
  /** A stage of which the first `count` slices are fetched next; after the last of them comes `finish`. */
  static __device__ __forceinline__ void begin(uint32_t, int) {}
  /** Of all lanes. */
  static __device__ __forceinline__ void fetch(const Arguments& a, uint32_t to, int block, int head, int row,
                                               Visible visible) {
    const uint16_t* from = static_cast<const uint16_t*>(a.cache.data) + block * a.cache.blockStride +
                           head * a.cache.headStride + row * kDim;
    copyRows(to, from + a.cache.keyStart, visible);
    copyRows(to + Shape::Rows::kBytes, from + a.cache.valueStart, visible);
  }
  static __device__ __forceinline__ void finish(uint32_t barrier) { ptx::arriveAfterCopies(barrier); }
  static __device__ __forceinline__ void clear(uint32_t, Visible) {}

 private:
  /** Zeros where nothing is visible: what the cache holds there may be NaN. */
  static __device__ __forceinline__ void copyRows(uint32_t to, const uint16_t* from, Visible visible) {
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < kDim / 16; ++i) {
      int index = i * 32 + lane, row = index / (kDim / 8), chunk = index % (kDim / 8);
      bool valid = row >= visible.first && row < visible.end;
      ptx::copyAsync(to + Shape::Rows::at(row, chunk), from + index * 8, valid);
    }
  }
};

/** By the tensor memory accelerator (sm_90), keys and values of a slice in one copy, to swizzled rows. */
template <int kDim, int kTiles>
struct TensorSource {
  static constexpr bool kTensor = true;
  static constexpr DType kCode = DType::kF32;
  static constexpr int kArrivals = 1;
  using Shape = split::Shape<kDim, kTiles, kTensor>;

  static __device__ __forceinline__ void prepare(const CUtensorMap* map) { ptx::prefetchTensorMap(map); }
  static __device__ __forceinline__ void begin(uint32_t barrier, int count) {
    if (threadIdx.x % 32 == 0) ptx::arriveExpecting(barrier, count * Shape::kSliceBytes);
  }
  /** Of a lane for its own slice. */
  static __device__ __forceinline__ void fetch(const Arguments& a, const CUtensorMap* map, uint32_t to,
                                               uint32_t barrier, int block, int head, int row, uint64_t policy) {
    const int line = head * a.cache.blockSize + row;
    ptx::loadTile(to, map, barrier, 0, line, 0, block * a.planes + a.layer * 2, policy);
  }
  static __device__ __forceinline__ void finish(uint32_t) {}
  /** Values where nothing is visible: a weight of 0 does not make a number of NaN. */
  static __device__ __noinline__ void clear(uint32_t slice, Visible visible) {
    uint32_t values = slice + Shape::Rows::kBytes;
    for (int i = threadIdx.x % 32; i < kDim / 64 * kSliceKeys * 8; i += 32) {
      int row = i / 8 % kSliceKeys;
      if (row < visible.first || row >= visible.end) ptx::storeZeros(values + i * 16);
    }
    ptx::fenceForCopies();
    __syncwarp();
  }
};

}  // namespace octavo::cuda::split
