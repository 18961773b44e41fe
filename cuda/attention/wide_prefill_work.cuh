// What a block of the Hopper prefill kernel works on, and where it lies in shared memory.
#pragma once

#include "cuda/attention/cache_layout.cuh"
#include "cuda/device/device_traits.h"
#include "cuda/ptx/mbarrier.cuh"
#include "cuda/ptx/tma.cuh"

namespace octavo::cuda::wide {

constexpr int kQueries = 128, kGroupQueries = 64, kGroups = 2;
constexpr int kThreads = 128 * (1 + kGroups);
constexpr int kKeys = 128;  // a tile; a multiple of every block size
constexpr int kStages = 2;  // tiles of keys, and of values, in shared memory
constexpr int kRowBytes = 128;

struct Arguments {
  CUtensorMap query;  // [tokens, heads · dim]
  CUtensorMap cache;  // [blocks · layers · 2 · kvHeads · blockSize, dim]
  Heads out;
  AttentionBatch batch;
  float scaleLog2;  // scale · log2(e)
  int32_t window, groupSize, heads, kvHeads, blockSize;
  int32_t layer, layers;
  int32_t numbers;   // tiles of queries, with room for a partial one a sequence
  bool storesPairs;  // the output is of 16 bits and aligned
};

/** Some query tokens of one head, the first at `position`. */
struct Work {
  int first, rows, position;
  int head;
  const int32_t* blocks;
  int firstTile, endTile;  // of keys that any of them sees

  __device__ __forceinline__ int endKey() const { return position + rows; }
};

/**
 * Item `item` of the launch; false where there is none. Tiles of queries are numbered so that sequence s owns numbers
 * queryStart[s] / kQueries + s and up. Late positions have the most keys: they come first.
 */
__device__ __forceinline__ bool findWork(const Arguments& a, int item, Work& work) {
  int number = a.numbers - 1 - item / a.heads;
  int low = 0, high = a.batch.sequences - 1;
  while (low < high) {
    int middle = (low + high + 1) / 2;
    if (a.batch.queryStart[middle] / kQueries + middle <= number) low = middle;
    else high = middle - 1;
  }
  int start = a.batch.queryStart[low], length = a.batch.queryStart[low + 1] - start;
  int offset = (number - start / kQueries - low) * kQueries;
  if (length < 2 || offset >= length) return false;
  work.first = start + offset;
  work.rows = min(kQueries, length - offset);
  work.position = a.batch.contextLength[low] - length + offset;
  work.head = item % a.heads;
  work.blocks = a.batch.blockTable + static_cast<int64_t>(low) * a.batch.tableStride;
  work.firstTile = a.window > 0 ? max(0, work.position - a.window + 1) / kKeys : 0;
  work.endTile = (work.endKey() + kKeys - 1) / kKeys;
  return true;
}

template <int kDim>
struct Shared {
  static constexpr int kSlabs = kDim / 64;  // of 64 columns
  static constexpr int kQuerySlab = kGroupQueries * kRowBytes, kKeySlab = kKeys * kRowBytes;
  static constexpr int kQueryBytes = kGroups * kSlabs * kQuerySlab, kTileBytes = kSlabs * kKeySlab;
  static constexpr int kBytes = 1024 + kQueryBytes + 2 * kStages * kTileBytes + (2 + 4 * kStages) * 8;

  uint32_t query, keys, values;                // tiles of keys and values: kStages each
  uint32_t queryFull, queryEmpty;              // barriers
  uint32_t keysFull, keysEmpty, valuesFull, valuesEmpty;  // kStages each

  __device__ __forceinline__ explicit Shared(uint32_t base) {
    query = (base + 1023) & ~1023u;
    keys = query + kQueryBytes;
    values = keys + kStages * kTileBytes;
    queryFull = values + kStages * kTileBytes;
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

/** Brings one tile of keys (plane 0) or values (plane 1): a lane a cache block. By a whole warp. */
template <int kDim>
__device__ __forceinline__ void loadBlocks(const Arguments& a, const Work& work, int tile, int plane, uint32_t to,
                                           uint32_t full) {
  int perTile = kKeys / a.blockSize, lane = threadIdx.x % 32;
  int firstBlock = tile * perTile, blocks = min(perTile, (work.endKey() + a.blockSize - 1) / a.blockSize - firstBlock);
  int blockBytes = a.blockSize * kRowBytes;
  if (lane == 0) ptx::arriveExpecting(full, static_cast<uint32_t>(blocks * blockBytes * Shared<kDim>::kSlabs));
  __syncwarp();
  if (lane >= blocks) return;
  int64_t layer = static_cast<int64_t>(work.blocks[firstBlock + lane]) * a.layers + a.layer;
  int row = static_cast<int>(((layer * 2 + plane) * a.kvHeads + work.head / a.groupSize) * a.blockSize);
#pragma unroll
  for (int slab = 0; slab < Shared<kDim>::kSlabs; ++slab) {
    ptx::loadTile(to + slab * Shared<kDim>::kKeySlab + lane * blockBytes, &a.cache, full, slab * 64, row);
  }
}

/** Everything a block's items need, in their order. By one warp. */
template <int kDim>
__device__ __forceinline__ void produce(const Arguments& a, const Shared<kDim>& shared) {
  using Place = Shared<kDim>;
  Slot keys, values;
  uint32_t queryParity = 0;
  Work work;
  for (int item = blockIdx.x; item < a.numbers * a.heads; item += gridDim.x) {
    if (!findWork(a, item, work)) continue;
    ptx::waitBarrier(shared.queryEmpty, queryParity ^ 1);
    queryParity ^= 1;
    if (threadIdx.x % 32 == 0) {
      ptx::arriveExpecting(shared.queryFull, Place::kQueryBytes);
#pragma unroll
      for (int i = 0; i < kGroups * Place::kSlabs; ++i) {
        int group = i / Place::kSlabs, slab = i % Place::kSlabs;
        ptx::loadTile(shared.query + i * Place::kQuerySlab, &a.query, shared.queryFull, work.head * kDim + slab * 64,
                      work.first + group * kGroupQueries);
      }
    }
    for (int tile = work.firstTile; tile < work.endTile; ++tile, keys.advance(), values.advance()) {
      ptx::waitBarrier(shared.keysEmpty + keys.index * 8, keys.parity ^ 1);
      loadBlocks<kDim>(a, work, tile, 0, shared.keys + keys.index * Place::kTileBytes,
                       shared.keysFull + keys.index * 8);
      ptx::waitBarrier(shared.valuesEmpty + values.index * 8, values.parity ^ 1);
      loadBlocks<kDim>(a, work, tile, 1, shared.values + values.index * Place::kTileBytes,
                       shared.valuesFull + values.index * 8);
    }
  }
}

}  // namespace octavo::cuda::wide
