// What a block of the Hopper kernel for expanded latents works on, and where it lies in shared memory.
#pragma once

#include "cuda/attention/mla.h"
#include "cuda/ptx/mbarrier.cuh"
#include "cuda/ptx/tma.cuh"

namespace octavo::cuda::expanded {

constexpr int kQueries = 128, kGroupQueries = 64, kGroups = 2;
constexpr int kThreads = 128 * (1 + kGroups);
constexpr int kKeys = 128;  // a tile
constexpr int kStages = 2;  // tiles of keys, and of values, in shared memory
constexpr int kRowBytes = 128;
constexpr int kOwnSlabs = 2, kKeySlabs = 3, kValueSlabs = 2;  // of 64 columns: a head's own key, with the rotated part
constexpr int kKeyDim = kKeySlabs * 64, kValueDim = kValueSlabs * 64, kHeadDim = (kOwnSlabs + kValueSlabs) * 64;

struct Arguments {
  CUtensorMap query;     // [tokens, heads · kKeyDim]
  CUtensorMap keyValue;  // [keys, heads · kHeadDim]
  CUtensorMap ropeKey;   // [keys, 64]
  Heads out;
  AttentionBatch batch;
  const int32_t* keyStart;
  float scaleLog2;  // scale · log2(e)
  int32_t heads, together;  // heads whose items alternate: their keys stay in the L2
  int32_t numbers;          // tiles of queries, with room for a partial one a sequence
};

/** Some query tokens of one head, the first at `position`. */
struct Work {
  int first, rows, position, head;
  int firstKey, tiles;  // row of the sequence's key 0; tiles of keys that any of them sees
  __device__ __forceinline__ int endKey() const { return position + rows; }
};

/**
 * Item `item` of the launch; false where there is none. Tiles of queries are numbered so that sequence s owns numbers
 * queryStart[s] / kQueries + s and up. Late positions have the most keys: they come first.
 */
__device__ __forceinline__ bool findWork(const Arguments& a, int item, Work& work) {
  int perGroup = a.numbers * a.together, group = item / perGroup, rest = item - group * perGroup;
  int size = min(a.together, a.heads - group * a.together);
  int number = a.numbers - 1 - rest / size;
  int low = 0, high = a.batch.sequences - 1;
  while (low < high) {
    int middle = (low + high + 1) / 2;
    if (a.batch.queryStart[middle] / kQueries + middle <= number) low = middle;
    else high = middle - 1;
  }
  int start = a.batch.queryStart[low], length = a.batch.queryStart[low + 1] - start;
  int offset = (number - start / kQueries - low) * kQueries;
  if (offset >= length) return false;
  work.first = start + offset;
  work.rows = min(kQueries, length - offset);
  work.position = a.batch.contextLength[low] - length + offset;
  work.head = group * a.together + rest % size;
  work.firstKey = a.keyStart[low];
  work.tiles = (work.endKey() + kKeys - 1) / kKeys;
  return true;
}

struct Shared {
  static constexpr int kQuerySlab = kGroupQueries * kRowBytes, kKeySlab = kKeys * kRowBytes;
  static constexpr int kQueryBytes = kGroups * kKeySlabs * kQuerySlab;
  static constexpr int kKeyBytes = kKeySlabs * kKeySlab, kValueBytes = kValueSlabs * kKeySlab;
  static constexpr int kBytes = 1024 + kQueryBytes + kStages * (kKeyBytes + kValueBytes) + (2 + 4 * kStages) * 8;

  uint32_t query, keys, values;                           // tiles of keys and values: kStages each
  uint32_t queryFull, queryEmpty;                         // barriers
  uint32_t keysFull, keysEmpty, valuesFull, valuesEmpty;  // kStages each

  __device__ __forceinline__ explicit Shared(uint32_t base) {
    query = (base + 1023) & ~1023u;
    keys = query + kQueryBytes;
    values = keys + kStages * kKeyBytes;
    queryFull = values + kStages * kValueBytes;
    queryEmpty = queryFull + 8;
    keysFull = queryEmpty + 8;
    keysEmpty = keysFull + kStages * 8;
    valuesFull = keysEmpty + kStages * 8;
    valuesEmpty = valuesFull + kStages * 8;
  }
  __device__ __forceinline__ void initialise() const {
    constexpr int kConsumers = kGroups * 4;  // warps
    ptx::initBarrier(queryFull, 1);
    ptx::initBarrier(queryEmpty, kConsumers);
    for (int i = 0; i < kStages; ++i) {
      ptx::initBarrier(keysFull + i * 8, 1);
      ptx::initBarrier(keysEmpty + i * 8, kConsumers);
      ptx::initBarrier(valuesFull + i * 8, 1);
      ptx::initBarrier(valuesEmpty + i * 8, kConsumers);
    }
    ptx::fenceBarriers();
  }
};

/** A position in a ring of kStages, and the parity of its lap. */
struct Slot {
  int index = 0;
  uint32_t parity = 0;
  __device__ __forceinline__ void advance() {
    if (++index < kStages) return;
    index = 0;
    parity ^= 1;
  }
};

__device__ __forceinline__ void loadQuery(const Arguments& a, const Work& work, const Shared& shared) {
  ptx::arriveExpecting(shared.queryFull, Shared::kQueryBytes);
#pragma unroll
  for (int i = 0; i < kGroups * kKeySlabs; ++i) {
    ptx::loadTile(shared.query + i * Shared::kQuerySlab, &a.query, shared.queryFull,
                  work.head * kKeyDim + i % kKeySlabs * 64, work.first + i / kKeySlabs * kGroupQueries);
  }
}

__device__ __forceinline__ void loadKeys(const Arguments& a, const Work& work, int tile, uint32_t to, uint32_t full) {
  int row = work.firstKey + tile * kKeys;
  ptx::arriveExpecting(full, Shared::kKeyBytes);
#pragma unroll
  for (int slab = 0; slab < kOwnSlabs; ++slab) {
    ptx::loadTile(to + slab * Shared::kKeySlab, &a.keyValue, full, work.head * kHeadDim + slab * 64, row);
  }
  ptx::loadTile(to + kOwnSlabs * Shared::kKeySlab, &a.ropeKey, full, 0, row);
}

__device__ __forceinline__ void loadValues(const Arguments& a, const Work& work, int tile, uint32_t to, uint32_t full) {
  ptx::arriveExpecting(full, Shared::kValueBytes);
#pragma unroll
  for (int slab = 0; slab < kValueSlabs; ++slab) {
    ptx::loadTile(to + slab * Shared::kKeySlab, &a.keyValue, full, work.head * kHeadDim + (kOwnSlabs + slab) * 64,
                  work.firstKey + tile * kKeys);
  }
}

/** Everything a block's items need, in their order. By one thread. */
__device__ __forceinline__ void produce(const Arguments& a, const Shared& shared) {
  Slot slot;
  uint32_t queryParity = 0;
  Work work;
  for (int item = blockIdx.x; item < a.numbers * a.heads; item += gridDim.x) {
    if (!findWork(a, item, work)) continue;
    ptx::waitBarrier(shared.queryEmpty, queryParity ^ 1);
    queryParity ^= 1;
    loadQuery(a, work, shared);
    for (int tile = 0; tile < work.tiles; ++tile, slot.advance()) {
      int at = slot.index;
      ptx::waitBarrier(shared.keysEmpty + at * 8, slot.parity ^ 1);
      loadKeys(a, work, tile, shared.keys + at * Shared::kKeyBytes, shared.keysFull + at * 8);
      ptx::waitBarrier(shared.valuesEmpty + at * 8, slot.parity ^ 1);
      loadValues(a, work, tile, shared.values + at * Shared::kValueBytes, shared.valuesFull + at * 8);
    }
  }
}

}  // namespace octavo::cuda::expanded
