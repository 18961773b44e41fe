// The warps that bring tiles of codes to the Hopper prefill kernel: they read codes, make 16-bit numbers of them, exact
// ones, and leave them where tensor copies leave those of a cache of floats. A tile of 128 keys of dim 128 is 16 loads a
// lane and some 600 instructions; on the same multiprocessor its products take some 2900 clocks.
#pragma once

#include "cuda/attention/wide_prefill_place.cuh"
#include "cuda/ptx/shared_memory.cuh"

namespace octavo::cuda::wide {

/** Warps 0 and 2 bring keys, with the scales of both, 1 and 3 values: each pair has the rows of a tile in turn. */
template <typename S>
class CodeFeed {
 public:
  __device__ __forceinline__ CodeFeed(const Arguments& a, const Shared<S>& shared)
      : a_(a), shared_(shared), plane_(threadIdx.x / 32 % 2),
        lane_(static_cast<int>(threadIdx.x / 64 * 32 + threadIdx.x % 32)),
        chunk_(lane_ % kChunks), row_(lane_ / kChunks),
        tiles_(plane_ == 0 ? shared.keys : shared.values), full_(plane_ == 0 ? shared.keysFull : shared.valuesFull) {}

  __device__ __forceinline__ void load(const PrefillWork& work) {
    int64_t starts = startOf(work, work.firstTile);
    for (int tile = work.firstTile; tile < work.endTile; ++tile, slot_.advance(), scales_.advance()) {
      const int64_t next = tile + 1 < work.endTile ? startOf(work, tile + 1) : kUnseen;
      ptx::waitBarrier(full_ + S::kToEmpty + slot_.index * 8, slot_.parity ^ 1);
      if (plane_ == 0 && a_.layout.hasScales()) loadScales(work, tile);
      loadTile(starts, work.endKey() - tile * S::kKeys, tiles_ + slot_.index * S::kTileBytes);
      ptx::fenceForCopies();
      __syncwarp();
      if (threadIdx.x % 32 == 0) ptx::arrive(full_ + slot_.index * 8);
      starts = next;
    }
  }

 private:
  static constexpr int kRun = 16;                      // consecutive keys that always lie in one cache block
  static constexpr int kChunks = S::kDim / 16;         // of 16 codes in a row
  static constexpr int kPassRows = 64 / kChunks, kPasses = S::kKeys / kPassRows;
  static constexpr int kBatch = kPasses % 8 == 0 ? 8 : 4;  // loads of a lane that are under way at once
  static constexpr int kRuns = S::kKeys / kRun;
  static constexpr int64_t kUnseen = -1;
  static_assert(kRuns <= 32 && kRun % kPassRows == 0 && kPasses % kBatch == 0);

  /** Where the lane's run of a tile starts in the cache; kUnseen where nobody sees it. */
  __device__ __forceinline__ int64_t startOf(const PrefillWork& work, int tile) const {
    const int run = static_cast<int>(threadIdx.x % 32), token = tile * S::kKeys + run * kRun;
    if (run >= kRuns || token >= work.endKey() || !work.seesBefore(token + kRun, a_.window)) return kUnseen;
    return work.blockAt(a_.batch, token / a_.blockSize) * a_.layout.blockStride +
           (plane_ == 0 ? a_.layout.keyStart : a_.layout.valueStart) + work.head / a_.groupSize * a_.layout.headStride +
           static_cast<int64_t>(token % a_.blockSize) * S::kDim;
  }
  __device__ __forceinline__ void loadScales(const PrefillWork& work, int tile) const {
    for (int at = lane_; at < S::kKeys; at += 64) {
      shared_.scales[scales_.index].load(a_.layout, a_.batch, work, tile, at, a_.window, a_.groupSize);
    }
  }
  /** Zeros where there is no key, or none that anybody sees. */
  __device__ __forceinline__ void loadTile(int64_t starts, int rows, uint32_t to) const {
    const uint8_t* const cache = static_cast<const uint8_t*>(a_.layout.data) + chunk_ * 16;
#pragma unroll 1
    for (int first = 0; first < kPasses; first += kBatch) {
      uint4 codes[kBatch];
#pragma unroll
      for (int i = 0; i < kBatch; ++i) {
        const int row = (first + i) * kPassRows + row_;
        const int64_t start = __shfl_sync(0xffffffffu, starts, (first + i) * kPassRows / kRun);
        codes[i] = make_uint4(0, 0, 0, 0);
        if (start == kUnseen || row >= rows) continue;
        codes[i] = *reinterpret_cast<const uint4*>(cache + start + static_cast<int64_t>(row % kRun) * S::kDim);
      }
#pragma unroll
      for (int i = 0; i < kBatch; ++i) storeCodes(to, (first + i) * kPassRows + row_, codes[i]);
    }
  }
  /** 16 codes of a row: two chunks of a slab's row of 128 bytes, XOR-swizzled by the row. */
  __device__ __forceinline__ void storeCodes(uint32_t to, int row, const uint4& codes) const {
    const uint32_t words[4] = {codes.x, codes.y, codes.z, codes.w};
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

  const Arguments& a_;
  const Shared<S>& shared_;
  int plane_, lane_, chunk_, row_;
  uint32_t tiles_, full_;
  Slot<S::kStages> slot_;
  Slot<S::kStages + 1> scales_;
};

}  // namespace octavo::cuda::wide
