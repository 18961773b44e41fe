// Shared memory of the latent decode kernel for many heads, its barriers and the thread that brings tiles.
//
// Two tiles of 64 latents lie side by side, each in two parts that are freed, and so filled, at different times. Part A
// of the even tile are its left 256 columns, of the odd tile the right 256; part B is the rest. A part is freed by one
// warpgroup: the one that uses it last. Parts come in the order in which they are freed, for one that waits holds up
// those behind it.
//
// Where two blocks side by side share their tiles, each brings half of every part to both, when both have freed it.
#pragma once

#include "cuda/attention/mla_schedule.cuh"
#include "cuda/ptx/cluster.cuh"
#include "cuda/ptx/mbarrier.cuh"
#include "cuda/ptx/tma.cuh"
#include "cuda/ptx/warp_mma.cuh"

namespace octavo::cuda::mla::wide {

constexpr int kThreads = 384;
constexpr int kWidth = 576, kRank = 512;
constexpr int kSlabs = kWidth / 64, kHalfSlabs = kRank / 128, kRopeSlab = kSlabs - 1;  // of 64 columns
constexpr int kRowBytes = 128, kSlabBytes = 64 * kRowBytes;
constexpr int kTileBytes = kSlabs * kSlabBytes;  // of 64 latents, or of the queries

struct Shape {
  static constexpr int kTileKeys = 64, kTileRows = LatentScratchLayout::kWideRows;
  static constexpr int kVectors = 33;
  static constexpr int kMaxChunks = LatentScratchLayout::kMostWideParts;
  static constexpr int kChunk = LatentScratchLayout::kWidePartKeys / kTileKeys;

  /** Even, for tiles are taken in pairs. Short contexts are cut finely, so that few sequences use much of the card. */
  static __device__ __forceinline__ int chunkTiles(int tiles) {
    if (tiles <= 2 * kChunk) return kChunk / 8 * 2;
    if (tiles <= 4 * kChunk) return kChunk / 4 * 2;
    return max(kChunk, (tiles + 2 * kMaxChunks - 1) / (2 * kMaxChunks) * 2);
  }
  /** Of a slice: what a warp of either group has. */
  static __device__ __forceinline__ int rowOf(int slice) { return slice % 4 * 16; }
  static __device__ __forceinline__ int columnOf(int slice) { return slice / 4 * (kRank / 2); }
  static __device__ __forceinline__ bool takes(const Arguments&, int rows) {
    return rows >= LatentScratchLayout::kFewestWideRows;
  }
};

/** In the order in which they are freed. */
enum Part { kEvenA, kEvenB, kOddA, kOddB, kParts };

struct Place {
  static constexpr int kTilesAt = kTileBytes, kMaximaAt = 3 * kTileBytes;
  static constexpr int kBarriersAt = kMaximaAt + 6 * 64 * 4;
  static constexpr int kBytes = kBarriersAt + (2 + 2 * kParts) * 8 + 1024;  // tiles start at a multiple of 1024

  uint8_t* base;
  uint32_t query;

  __device__ __forceinline__ explicit Place(uint8_t* bytes)
      : base(bytes + (1024 - ptx::sharedAddress(bytes) % 1024) % 1024), query(ptx::sharedAddress(base)) {}

  /** Of the even (0) or the odd (1) tile. */
  __device__ __forceinline__ uint32_t slab(int odd, int slab) const {
    return query + kTilesAt + (odd * kSlabs + slab) * kSlabBytes;
  }
  /** [64] of the rows after the even (0) and the odd (1) tile. */
  __device__ __forceinline__ float* maxima(int odd) const {
    return reinterpret_cast<float*>(base + kMaximaAt) + odd * 64;
  }
  /** [64] of the even and of the odd tiles; chunks take turns. */
  __device__ __forceinline__ float* sums(int lap, int odd) const { return maxima(2 + 2 * lap + odd); }
  __device__ __forceinline__ uint32_t queryFull() const { return query + kBarriersAt; }
  __device__ __forceinline__ uint32_t queryEmpty() const { return queryFull() + 8; }
  __device__ __forceinline__ uint32_t full(int part) const { return queryFull() + 16 + part * 8; }
  __device__ __forceinline__ uint32_t empty(int part) const { return full(kParts + part); }

  /** `sharers`: blocks, of which each has four warps that free a part. */
  __device__ __forceinline__ void initialise(int sharers) const {
    ptx::initBarrier(queryFull(), 1);
    ptx::initBarrier(queryEmpty(), 8);
    for (int i = 0; i < kParts; ++i) {
      ptx::initBarrier(full(i), 1);
      ptx::initBarrier(empty(i), 4 * sharers);
    }
    ptx::fenceBarriers();
  }
};

/** Brings queries and tiles of a worker, across the borders of items. By one thread. */
class Feed {
 public:
  __device__ __forceinline__ Feed(const Arguments& a, const CUtensorMap* queries, const CUtensorMap* latents,
                                  const Place& place)
      : a_(a), queries_(queries), latents_(latents), place_(place),
        neighbour_(static_cast<int>(blockIdx.x) % a.abreast) {}

  __device__ __forceinline__ void run(Segment<Shape> segment, int lineEnd) {
    for (; !segment.isEmpty(); advance(a_, segment, lineEnd)) {
      if (segment.exists()) loadQuery(segment);
      else if (a_.sharers == 1) continue;
      const int32_t* table = a_.batch.blockTable + static_cast<int64_t>(segment.index) * a_.batch.tableStride;
      Planes now = planesAt(table, segment.begin, segment.end);
      for (int tile = segment.begin; tile < segment.end; tile += 2) {
        const Planes next = planesAt(table, tile + 2, segment.end);
        load<kEvenA, 0, 0, kHalfSlabs>(now.even);
        load<kEvenB, 0, kHalfSlabs, kSlabs>(now.even);
        if (now.odd >= 0) {
          load<kOddA, 1, kHalfSlabs, 2 * kHalfSlabs>(now.odd);
          load<kOddB, 1, 0, kHalfSlabs>(now.odd);
        }
        prefetch(next);
        now = next;
      }
    }
  }

 private:
  /** Of the tiles of a pair in the cache; −1: there is none. */
  struct Planes {
    int even, odd;
  };
  __device__ __forceinline__ Planes planesAt(const int32_t* table, int tile, int end) const {
    return {tile < end ? table[tile] * a_.layers + a_.layer : -1,
            tile + 1 < end ? table[tile + 1] * a_.layers + a_.layer : -1};
  }

  /** To the L2, from where they come in time: what a part had is needed until shortly before. One of two a block. */
  __device__ __forceinline__ void prefetch(const Planes& planes) const {
    if (planes.even >= 0 && neighbour_ == 0) prefetch(planes.even);
    if (planes.odd >= 0 && neighbour_ == a_.abreast - 1) prefetch(planes.odd);
  }
  __device__ __forceinline__ void prefetch(int plane) const {
    constexpr int kBytes = Shape::kTileKeys * kWidth * 2;
    ptx::prefetchBytes(a_.latents + static_cast<int64_t>(plane) * kBytes, kBytes, policy_);
  }

  __device__ __forceinline__ void loadQuery(const Segment<Shape>& segment) {
    ptx::waitBarrier(place_.queryEmpty(), queryParity_ ^ 1);
    queryParity_ ^= 1;
    ptx::arriveExpecting(place_.queryFull(), kTileBytes);
    int row = segment.sequence.first * a_.query.heads + segment.item * Shape::kTileRows;
    for (int slab = 0; slab < kSlabs; ++slab) {
      ptx::loadTile(place_.query + slab * kSlabBytes, queries_, place_.queryFull(), slab * 64, row);
    }
  }

  /** Slabs [kFirst, kEnd) of the tile in `plane`; the odd tile's part B has its last slab besides. */
  template <Part kPart, int kOdd, int kFirst, int kEnd>
  __device__ __forceinline__ void load(int plane) {
    constexpr int kCount = kEnd - kFirst + (kPart == kOddB ? 1 : 0);
    const uint32_t full = place_.full(kPart);
    ptx::waitBarrier(place_.empty(kPart), (parities_ >> kPart & 1) ^ 1);
    parities_ ^= 1u << kPart;
    ptx::arriveExpecting(full, kCount * kSlabBytes);
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const int slab = kFirst + i < kEnd ? kFirst + i : kRopeSlab;
      const uint32_t to = place_.slab(kOdd, slab);
      if (a_.sharers == 1) ptx::loadTile(to, latents_, full, 0, 0, slab, plane, policy_);
      else if ((i + kOdd) % 2 == neighbour_) ptx::loadTileShared(to, latents_, full, 0, 0, slab, plane, 3, policy_);
    }
  }

  const Arguments& a_;
  const CUtensorMap* queries_;
  const CUtensorMap* latents_;
  const Place& place_;
  int neighbour_;
  uint64_t policy_ = ptx::evictFirstPolicy();  // pieces of items, not latents, are read again
  uint32_t queryParity_ = 0, parities_ = 0;
};

}  // namespace octavo::cuda::mla::wide
