// What the Hopper prefill kernel is given, and where things lie in shared memory.
#pragma once

#include <type_traits>

#include "cuda/attention/prefill_work.cuh"
#include "cuda/attention/prefill_scales.cuh"
#include "cuda/device/device_traits.h"
#include "cuda/ptx/mbarrier.cuh"
#include "cuda/ptx/tma.cuh"

namespace octavo::cuda::wide {

constexpr int kGroupQueries = 64;  // query tokens a warpgroup
constexpr int kRowBytes = 128;
constexpr int kBringers = 2;  // warps that bring keys, and that bring values

struct Arguments {
  CUtensorMap query;  // [tokens, heads · dim]
  CUtensorMap cache;  // [blocks · layers · 2 · kvHeads · blockSize, dim], boxes of boxTokens; none of codes
  CacheLayout layout;
  Heads out;
  AttentionBatch batch;
  Variant variant;
  float scaleLog2;    // scale · log2(e)
  int32_t window, groupSize, heads, kvHeads, blockSize, boxTokens;
  int32_t layer, layers;
  int32_t items;      // tiles of queries · heads
  uint32_t* begun;    // items that blocks took after their first, 0 between launches; null: they are dealt in advance
  bool castsQueries;  // bf16, for codes; see wide_prefill_query.cuh
  bool storesPairs;   // the output is of 16 bits and aligned
  int32_t leastQueries;  // of a sequence
};

/**
 * kGroups warpgroups multiply numbers of kType, on tiles of kKeys keys, kStages of them (and of values) in shared memory.
 */
template <DType kType_, int kDim_, int kGroups_, int kKeys_, int kStages_, int kQueryStages_,
          DType kCode_ = DType::kF32>
struct Shape {
  static constexpr DType kType = kType_, kCode = kCode_;
  static constexpr bool kCoded = isCode(kCode);
  static constexpr int kDim = kDim_, kGroups = kGroups_, kKeys = kKeys_, kStages = kStages_;
  static constexpr int kQueryStages = kQueryStages_;
  static constexpr int kQueries = kGroups * kGroupQueries, kThreads = 128 * (1 + kGroups);
  static constexpr int kSlabs = kDim / 64;  // of 64 columns
  static constexpr int kQuerySlab = kGroupQueries * kRowBytes, kKeySlab = kKeys * kRowBytes;
  static constexpr int kQueryBytes = kGroups * kSlabs * kQuerySlab, kTileBytes = kSlabs * kKeySlab;
  static constexpr int kToEmpty = kStages * 8;  // from a barrier for full tiles to that for their empty slot
  static constexpr int kBarriers = 2 + 2 * kQueryStages + 4 * kStages;
  /** Scales of a tile are read after its keys are released: for one more tile than there are stages. */
  static constexpr int kScaleStages = kCoded ? kStages + 1 : 0;
  /** Codes on their way to the warps that make numbers of them: the next chunks of 16 bytes of each thread. */
  static constexpr int kAhead = kCoded ? 8 : 0, kAheadBytes = kAhead * 128 * 16;
  static constexpr int kTableBytes = kScaleStages * TileScales<kKeys>::kBytes + kBarriers * 8 + 32;
  static constexpr int kTilesBytes = kQueryStages * kQueryBytes + 2 * kStages * kTileBytes;
  static constexpr int kBytes = 1024 + kTilesBytes + kAheadBytes + kTableBytes;
  static_assert(kBytes <= 227 << 10);
};

template <typename S>
struct Shared {
  uint32_t query, keys, values;                           // tiles of each, in stages
  uint32_t ahead;                                         // [kAhead, 128] chunks of codes
  uint32_t queryFull, queryEmpty;                         // barriers, kQueryStages each
  uint32_t keysFull, keysEmpty, valuesFull, valuesEmpty;  // kStages each
  uint32_t workFull, workEmpty;
  PrefillWork* work;                                      // the block's next item; no rows: there is none
  TileScales<S::kKeys>* scales;                           // kScaleStages

  __device__ __forceinline__ explicit Shared(uint8_t* bytes, uint32_t address) {
    query = (address + 1023) & ~1023u;
    keys = query + S::kQueryStages * S::kQueryBytes;
    values = keys + S::kStages * S::kTileBytes;
    ahead = values + S::kStages * S::kTileBytes;
    queryFull = ahead + S::kAheadBytes;
    queryEmpty = queryFull + S::kQueryStages * 8;
    keysFull = queryEmpty + S::kQueryStages * 8;
    keysEmpty = keysFull + S::kToEmpty;
    valuesFull = keysEmpty + S::kStages * 8;
    valuesEmpty = valuesFull + S::kToEmpty;
    workFull = valuesEmpty + S::kStages * 8;
    workEmpty = workFull + 8;
    work = reinterpret_cast<PrefillWork*>(bytes + (workEmpty + 8 - address));
    scales = reinterpret_cast<TileScales<S::kKeys>*>(bytes + (workEmpty + 40 - address));
  }
  __device__ __forceinline__ void initialise() const {
    constexpr int kConsumers = S::kGroups * 4;  // warps
    for (int i = 0; i < S::kQueryStages; ++i) {
      ptx::initBarrier(queryFull + i * 8, 1);
      ptx::initBarrier(queryEmpty + i * 8, kConsumers);
    }
    for (int i = 0; i < S::kStages; ++i) {
      ptx::initBarrier(keysFull + i * 8, kBringers);
      ptx::initBarrier(keysEmpty + i * 8, kConsumers);
      ptx::initBarrier(valuesFull + i * 8, kBringers);
      ptx::initBarrier(valuesEmpty + i * 8, kConsumers);
    }
    ptx::initBarrier(workFull, 1);
    ptx::initBarrier(workEmpty, S::kThreads - 32);  // every thread but those of the warp that deals
    ptx::fenceBarriers();
  }
};

/** A position in a ring, and the parity of its lap. */
template <int kStages>
struct Slot {
  int index = 0;
  uint32_t parity = 0;
  __device__ __forceinline__ void advance() {
    if (++index < kStages) return;
    index = 0;
    parity ^= 1;
  }
};

}  // namespace octavo::cuda::wide
