// Shared memory of the latent decode kernel, its barriers and the warp that brings tiles.
#pragma once

#include "cuda/attention/mla_schedule.cuh"
#include "cuda/ptx/mbarrier.cuh"
#include "cuda/ptx/tma.cuh"
#include "cuda/ptx/warp_mma.cuh"

namespace octavo::cuda::mla {

constexpr int kTileKeys = 32;  // divides the block sizes that the kernel takes
constexpr int kTileRows = LatentScratchLayout::kTileRows;
constexpr int kWidth = 576, kRank = 512;
constexpr int kScoreWarps = 4, kWeightWarps = 2, kValueWarps = kRank / 64;  // a value warp has 64 columns
constexpr int kFirstValueWarp = kScoreWarps + kWeightWarps;
constexpr int kThreads = (kFirstValueWarp + kValueWarps + 1) * 32;
constexpr int kStages = 5;    // tiles in flight or in work
constexpr int kPartials = 2;  // tiles whose partial scores wait for the weight warps
constexpr int kWeights = 3;   // tiles whose weights wait for the value warps

constexpr int kLatentBytes = kWidth * 2;
constexpr int kTileBytes = kTileKeys * (kLatentBytes + 32);  // room for a tile of either form, a multiple of 1024

/** A tile as boxes of 64 columns, rows of 128 bytes, swizzled: one copy. */
struct Boxes {
  /** Of 8 columns of a latent from the tile's first byte. */
  static __device__ __forceinline__ uint32_t offset(int key, int chunk) {
    return (chunk >> 3) * (kTileKeys * 128) + key * 128 + (((chunk & 7) ^ (key & 7)) << 4);
  }
};

/** A tile as latents lie in memory, a copy a row, 16 bytes apart so that a column of eight is in different banks. */
struct Rows {
  static constexpr int kPitch = kLatentBytes + 16;
  static __device__ __forceinline__ uint32_t offset(int key, int chunk) { return key * kPitch + chunk * 16; }
};

static_assert(kTileBytes % 1024 == 0 && kTileKeys * Rows::kPitch <= kTileBytes);

/** Pitches that put eight rows of a column in different banks. */
constexpr int kScorePitch = kTileKeys * 4 + 32, kWeightPitch = kTileKeys * 2 + 16;
constexpr int kPartialBytes = kTileRows * kScorePitch;  // of a score warp
constexpr int kWeightBytes = kTileRows * kWeightPitch;

struct Shape {
  static constexpr int kTileKeys = mla::kTileKeys, kTileRows = mla::kTileRows;
  static constexpr int kVectors = 9;
  static constexpr int kMaxChunks = LatentScratchLayout::kMostParts;
  static constexpr int kChunk = LatentScratchLayout::kPartKeys / kTileKeys;

  /** Short contexts are cut finely, so that one sequence fills the card; none is cut into more than kMaxChunks. */
  static __device__ __forceinline__ int chunkTiles(int tiles) {
    if (tiles <= 2 * kChunk) return kChunk / 4;
    if (tiles <= 4 * kChunk) return kChunk / 2;
    return max(kChunk, (tiles + kMaxChunks - 1) / kMaxChunks);
  }
  /** Of a slice: what a value warp has. */
  static __device__ __forceinline__ int rowOf(int) { return 0; }
  static __device__ __forceinline__ int columnOf(int slice) { return slice * 64; }
  static __device__ __forceinline__ bool takes(const Arguments& a, int rows) {
    return !a.hasWide || rows < LatentScratchLayout::kFewestWideRows;
  }
};

/** Beside the weights of a tile: how the values before it are scaled; at a chunk's end its maxima and sums. */
struct TileScales {
  float correction[kTileRows], maximum[kTileRows], sum[kTileRows];
};

struct Place {
  static constexpr int kPartialsAt = kStages * kTileBytes;
  static constexpr int kWeightsAt = kPartialsAt + kPartials * kScoreWarps * kPartialBytes;
  static constexpr int kScalesAt = kWeightsAt + kWeights * kWeightBytes;
  static constexpr int kBarriersAt = kScalesAt + kWeights * static_cast<int>(sizeof(TileScales));
  static constexpr int kBytes = kBarriersAt + 2 * (kStages + kWeights + kPartials) * 8 + 1024;  // tiles start at a multiple of 1024

  uint8_t* base;
  uint32_t ring;

  __device__ __forceinline__ explicit Place(uint8_t* bytes)
      : base(bytes + (1024 - ptx::sharedAddress(bytes) % 1024) % 1024), ring(ptx::sharedAddress(base)) {}

  __device__ __forceinline__ uint32_t tile(int stage) const { return ring + stage * kTileBytes; }
  __device__ __forceinline__ uint32_t full(int stage) const { return ring + kBarriersAt + stage * 8; }
  __device__ __forceinline__ uint32_t empty(int stage) const { return full(kStages + stage); }
  __device__ __forceinline__ uint32_t weightsFull(int at) const { return full(2 * kStages + at); }
  __device__ __forceinline__ uint32_t weightsEmpty(int at) const { return full(2 * kStages + kWeights + at); }
  __device__ __forceinline__ uint32_t partialsFull(int at) const { return full(2 * (kStages + kWeights) + at); }
  __device__ __forceinline__ uint32_t partialsEmpty(int at) const { return partialsFull(kPartials + at); }
  __device__ __forceinline__ uint32_t weights(int at) const { return ring + kWeightsAt + at * kWeightBytes; }
  __device__ __forceinline__ TileScales& scales(int at) const {
    return reinterpret_cast<TileScales*>(base + kScalesAt)[at];
  }
  __device__ __forceinline__ uint8_t* partial(int at, int warp) const {
    return base + kPartialsAt + (at * kScoreWarps + warp) * kPartialBytes;
  }

  __device__ __forceinline__ void initialise() const {
    for (int i = 0; i < kStages; ++i) {
      ptx::initBarrier(full(i), 1);
      ptx::initBarrier(empty(i), kValueWarps);
    }
    for (int i = 0; i < kWeights; ++i) {
      ptx::initBarrier(weightsFull(i), kWeightWarps);
      ptx::initBarrier(weightsEmpty(i), kValueWarps);
    }
    for (int i = 0; i < kPartials; ++i) {
      ptx::initBarrier(partialsFull(i), kScoreWarps);
      ptx::initBarrier(partialsEmpty(i), kWeightWarps);
    }
    ptx::fenceBarriers();
  }
};

/** A position in a ring of kSize, and the parity of its lap. */
template <int kSize>
struct Turn {
  int index = 0;
  uint32_t parity = 0;
  __device__ __forceinline__ void advance() {
    if (++index < kSize) return;
    index = 0;
    parity ^= 1;
  }
};

/** Brings all tiles of a worker, across the borders of items. By one warp. */
template <typename Form>
class Feed {
 public:
  __device__ __forceinline__ Feed(const Arguments& a, const CUtensorMap* map, const Place& place)
      : a_(a), map_(map), place_(place), lane_(threadIdx.x % 32) {}

  __device__ __forceinline__ void run(Segment<Shape> segment, int lineEnd) {
    static_assert(kTileKeys == 32, "a lane a latent");
    for (; !segment.isEmpty(); advance(a_, segment, lineEnd)) {
      const int32_t* table = a_.batch.blockTable + static_cast<int64_t>(segment.index) * a_.batch.tableStride;
      for (int first = segment.begin; first < segment.end; first += 32) {
        int own = min(first + lane_, segment.end - 1);
        int block = table[own >> a_.blockShift];
        for (int tile = first; tile < min(first + 32, segment.end); ++tile, turn_.advance()) {
          const int plane = __shfl_sync(0xffffffffu, block, tile - first) * a_.layers + a_.layer;
          ptx::waitBarrier(place_.empty(turn_.index), turn_.parity ^ 1);
          if (lane_ == 0) ptx::arriveExpecting(place_.full(turn_.index), kTileKeys * kLatentBytes);
          __syncwarp();
          load(plane, (tile & ((1 << a_.blockShift) - 1)) * kTileKeys);
        }
      }
    }
  }

 private:
  /** Latents from `first` on of a block's plane. */
  __device__ __forceinline__ void load(int plane, int first) const {
    const uint32_t to = place_.tile(turn_.index), full = place_.full(turn_.index);
    if constexpr (__is_same(Form, Rows)) {
      const int64_t row = (static_cast<int64_t>(plane) << a_.blockShift) * kTileKeys + first + lane_;
      ptx::loadBytes(to + Rows::offset(lane_, 0), a_.latents + row * kLatentBytes, kLatentBytes, full, policy_);
    } else if (lane_ == 0) {
      ptx::loadTile(to, map_, full, 0, first, 0, plane, policy_);
    }
    __syncwarp();
  }

  const Arguments& a_;
  const CUtensorMap* map_;
  const Place& place_;
  int lane_;
  uint64_t policy_ = ptx::evictFirstPolicy();  // pieces of items, not latents, are read again
  Turn<kStages> turn_;
};

}  // namespace octavo::cuda::mla
