// The warps that bring tiles of codes to the Hopper prefill kernel: they read codes, make fp16 numbers of them, exact
// ones, and leave them where tensor copies leave those of a cache of floats. For four codes that is three instructions
// of e4m3 and five of int8; to bf16 it would be nine and eight, and these warps would set the pace. The next codes of a
// lane are under way to shared memory all the time, across the borders of tiles: in registers the compiler moves them at
// the end of a loop, and so waits for them.
#pragma once

#include "cuda/attention/wide_prefill_place.cuh"
#include "cuda/ptx/shared_memory.cuh"
#include "cuda/ptx/warp_mma.cuh"

namespace octavo::cuda::wide {

/** Warps 0 and 2 bring keys, with the scales of both, 1 and 3 values: each pair has the rows of a tile in turn. */
template <typename S>
class CodeFeed {
 public:
  __device__ __forceinline__ CodeFeed(const Arguments& a, const Shared<S>& shared)
      : a_(a), shared_(shared), plane_(threadIdx.x / 32 % 2),
        lane_(static_cast<int>(threadIdx.x / 64 * 32 + threadIdx.x % 32)),
        chunk_(lane_ % kChunks), row_(lane_ / kChunks), ahead_(shared.ahead + threadIdx.x * 16),
        tiles_(plane_ == 0 ? shared.keys : shared.values), full_(plane_ == 0 ? shared.keysFull : shared.valuesFull) {}

  __device__ __forceinline__ void load(const PrefillWork& work) {
    const bool bringsScales = plane_ == 0 && a_.layout.hasScales();
    const uint8_t *now = startOf(work, work.firstTile), *next = startOf(work, work.firstTile + 1);
    ptx::waitCopies<0>();  // of nothing, to the same places, past the end of the item before
    pass(0, now, work.endKey() - work.firstTile * S::kKeys, [](int) {});
    Scales scales[kScales];
    if (bringsScales) fetchScales(scales, work, work.firstTile);
    for (int tile = work.firstTile; tile < work.endTile; ++tile, slot_.advance(), scaleSlot_.advance()) {
      const uint8_t* const later = startOf(work, tile + 2);
      ptx::waitBarrier(full_ + S::kToEmpty + slot_.index * 8, slot_.parity ^ 1);
      if (bringsScales) {
        storeScales(scales);
        fetchScales(scales, work, tile + 1);
      }
      storeTile(now, next, work.endKey() - tile * S::kKeys, tiles_ + slot_.index * S::kTileBytes);
      ptx::fenceForCopies();
      __syncwarp();
      if (threadIdx.x % 32 == 0) ptx::arrive(full_ + slot_.index * 8);
      now = next;
      next = later;
    }
  }

 private:
  using Scales = typename TileScales<S::kKeys>::Pair;
  static constexpr int kRun = 16;               // consecutive keys that always lie in one cache block
  static constexpr int kChunks = S::kDim / 16;  // of 16 codes in a row
  static constexpr int kRows = 64 / kChunks;    // that a pair of warps has at once
  static constexpr int kAhead = S::kAhead, kAheadRows = kAhead * kRows;
  static constexpr int kPlaces = 128 * 16;      // bytes from a chunk of the lane to its next one
  static constexpr int kRuns = S::kKeys / kRun, kScales = (S::kKeys + 63) / 64;
  static_assert(kRuns <= 32 && kRun % kRows == 0 && kAheadRows % kRun == 0 && S::kKeys % kAheadRows == 0);

  /** Where the lane's run of a tile starts in the cache; null where nobody sees it. */
  __device__ __forceinline__ const uint8_t* startOf(const PrefillWork& work, int tile) const {
    const int run = static_cast<int>(threadIdx.x % 32), token = tile * S::kKeys + run * kRun;
    if (run >= kRuns || token >= work.endKey() || !work.seesBefore(token + kRun, a_.window)) return nullptr;
    return static_cast<const uint8_t*>(a_.layout.data) +
           work.blockAt(a_.batch, token / a_.blockSize) * a_.layout.blockStride +
           (plane_ == 0 ? a_.layout.keyStart : a_.layout.valueStart) + work.head / a_.groupSize * a_.layout.headStride +
           static_cast<int64_t>(token % a_.blockSize) * S::kDim;
  }

  /**
   * Starts the lane's next kAhead copies, from row `first` on of a tile with `rows`, each when `take` is done with the
   * one before it in its place; zeros where there is no key, or none that anybody sees.
   */
  template <typename Take>
  __device__ __forceinline__ void pass(int first, const uint8_t* starts, int rows, const Take& take) const {
    constexpr int kInRun = kRun / kRows;
    const uint8_t* run = nullptr;
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      if (i % kInRun == 0) {
        run = reinterpret_cast<const uint8_t*>(__shfl_sync(
            0xffffffffu, reinterpret_cast<unsigned long long>(starts), first / kRun + i / kInRun));
      }
      take(i);
      const bool exists = run != nullptr && i * kRows < rows - first - row_;
      const uint8_t* const from = run + (i % kInRun * kRows + row_) * S::kDim + chunk_ * 16;
      ptx::copyAsync(ahead_ + i * kPlaces, exists ? from : static_cast<const uint8_t*>(a_.layout.data), exists);
      ptx::commitCopies();
    }
  }
  /** Leaves a tile's numbers at `to`, and starts the copies of what comes a round later, of this tile or the next. */
  __device__ __forceinline__ void storeTile(const uint8_t* now, const uint8_t* next, int rows, uint32_t to) const {
#pragma unroll 1
    for (int first = 0; first < S::kKeys; first += kAheadRows) {
      const bool isLast = first + kAheadRows == S::kKeys;
      uint32_t codes[2][4];
      pass(isLast ? 0 : first + kAheadRows, isLast ? next : now, isLast ? rows - S::kKeys : rows, [&](int i) {
        if (i % 2 == 0) loadTwo(codes, ahead_ + i * kPlaces);
        storeCodes(to, first + i * kRows + row_, codes[i % 2]);
      });
    }
  }
  /** The chunks that were asked for first, once they are there. */
  __device__ __forceinline__ void loadTwo(uint32_t (&codes)[2][4], uint32_t from) const {
    ptx::waitCopies<kAhead - 2>();
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      ptx::loadFourWords(codes[i][0], codes[i][1], codes[i][2], codes[i][3], from + i * kPlaces);
    }
  }
  /** 16 codes of a row: two chunks of a slab's row of 128 bytes, XOR-swizzled by the row. */
  __device__ __forceinline__ void storeCodes(uint32_t to, int row, const uint32_t (&words)[4]) const {
    const uint32_t line = to + chunk_ / 4 * S::kKeySlab + row * kRowBytes;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      uint32_t pairs[4];
      widenCodes<S::kCode, S::kType>(words[2 * half], pairs[0], pairs[1]);
      widenCodes<S::kCode, S::kType>(words[2 * half + 1], pairs[2], pairs[3]);
      const uint32_t at = line + (((chunk_ % 4 * 2 + half) ^ (row & 7)) << 4);
      ptx::storeFourWords(at, pairs[0], pairs[1], pairs[2], pairs[3]);
    }
  }

  __device__ __forceinline__ void fetchScales(Scales (&scales)[kScales], const PrefillWork& work, int tile) const {
#pragma unroll
    for (int i = 0; i < kScales; ++i) {
      if (lane_ + 64 * i >= S::kKeys) continue;
      scales[i] = TileScales<S::kKeys>::pairAt(a_.layout, a_.batch, work, tile, lane_ + 64 * i, a_.window,
                                               a_.groupSize);
    }
  }
  __device__ __forceinline__ void storeScales(const Scales (&scales)[kScales]) const {
#pragma unroll
    for (int i = 0; i < kScales; ++i) {
      if (lane_ + 64 * i < S::kKeys) shared_.scales[scaleSlot_.index].store(lane_ + 64 * i, scales[i]);
    }
  }

  const Arguments& a_;
  const Shared<S>& shared_;
  int plane_, lane_, chunk_, row_;
  uint32_t ahead_, tiles_, full_;
  Slot<S::kStages> slot_;
  Slot<S::kStages + 1> scaleSlot_;
};

}  // namespace octavo::cuda::wide
