// What a block of narrow_codes.cuh works on, as passes: some rows of the weight, and the rows of x that they meet; and
// how its shared memory is laid out.
#pragma once

#include <cuda.h>

#include "cuda/ptx/cluster.cuh"
#include "cuda/ptx/mbarrier.cuh"
#include "cuda/ptx/warp_mma.cuh"
#include "cuda/quantized/tiles.cuh"
#include "ops/expert_rows.h"
#include "ops/tensor.h"

namespace octavo::cuda {

struct NarrowCodesArguments {
  CUtensorMap xMap;
  Matrix out, x;
  Vector bias;
  const uint8_t *codes, *scales, *zeros;
  ExpertRows experts;           // of a product of groups
  int32_t tiles, tileRows;      // along K; of 64 rows, of all of the weight or of an expert
  int32_t groups, groupShift;   // group = column >> groupShift
  bool isBf16Scale;
  int32_t rowTiles, pairs, depth;  // see NarrowCodesPlan
  int32_t units, stages;           // of rowTiles tiles of rows, as tileRows; of depth tiles of K
  int32_t ringStages, stageBytes, groupSlots, scalesAt, zerosAt, sumsAt, barriersAt, tableAt;
};

template <int kBits_, DType kType_, int kTokens_, bool kGrouped_>
struct NarrowCodesShape {
  static constexpr int kBits = kBits_, kTokens = kTokens_, kSums = kTokens / 2;
  static constexpr DType kType = kType_;
  static constexpr bool kGrouped = kGrouped_;
  static constexpr int kGroups = 4, kConsumers = kGroups * 128, kThreads = kConsumers + 32;
  static constexpr int kTokenBytes = kTokens * 128;  // of x, a tile of K
};

/** What a block keeps of the experts: where the units of each end, its first row and its rows; each [experts]. */
struct NarrowCodesExperts {
  int *ends, *first, *rows;
  __device__ __forceinline__ NarrowCodesExperts(uint8_t* at, int count)
      : ends(reinterpret_cast<int*>(at)), first(ends + count), rows(first + count) {}
};

/** Shared memory: stages of x, codes, scales and zeros; sums; barriers; the table of the experts. */
template <typename Shape>
struct NarrowCodesShared {
  uint32_t ring, sums, full, empty, placed, taken;
  NarrowCodesExperts experts;

  __device__ __forceinline__ NarrowCodesShared(uint8_t* base, const NarrowCodesArguments& a)
      : experts(base + a.tableAt, a.experts.count) {
    ring = ptx::sharedAddress(base);
    sums = ring + a.sumsAt;
    full = ring + a.barriersAt;
    empty = full + a.ringStages * 8;
    placed = empty + a.ringStages * 8;
    taken = placed + 8;
  }
  __device__ __forceinline__ void initBarriers(int stages, int ranks) const {
    for (int i = 0; i < stages; ++i) {
      ptx::initBarrier(full + i * 8, 1);
      ptx::initBarrier(empty + i * 8, Shape::kConsumers / 32);
    }
    ptx::initBarrier(placed, ranks);
    ptx::initBarrier(taken, ranks);
    ptx::fenceBarriers();
  }
};

struct NarrowCodesSlot {
  int index = 0;
  uint32_t parity = 0;
  __device__ __forceinline__ void advance(int stages) {
    if (++index < stages) return;
    index = 0;
    parity ^= 1;
  }
};

/** 128 rows of the weight, or 64, from a tile of rows on, and the rows of x that meet them. */
struct NarrowCodesPass {
  int tileRow, tileRows, column;  // column: of the output, where the first row's numbers go
  int row, rows;                  // of x
};

/** Every step-th unit from the first on, and stages [begin, end) of K. */
template <typename Shape>
class NarrowCodesShare {
 public:
  int first, step, units, begin, end, rank, ranks;

  __device__ __forceinline__ NarrowCodesShare(const NarrowCodesArguments& a, const NarrowCodesExperts& experts)
      : a_(a), experts_(experts) {
    rank = static_cast<int>(ptx::clusterRank());
    ranks = static_cast<int>(ptx::clusterSize());
    first = static_cast<int>(blockIdx.x) / ranks;
    step = static_cast<int>(gridDim.x) / ranks;
    begin = a.stages * rank / ranks;
    end = a.stages * (rank + 1) / ranks;
    units = a.units;
    if constexpr (Shape::kGrouped) units = experts.ends[a.experts.count - 1];
  }

  __device__ __forceinline__ NarrowCodesPass pass(int unit) const {
    int within = unit, expert = 0, skipped = 0, rows = static_cast<int>(a_.x.rows), row = 0;
    if constexpr (Shape::kGrouped) {
      expert = expertOf(unit);
      within -= expert ? experts_.ends[expert - 1] : 0;
      skipped = within / a_.units * Shape::kTokens;
      within %= a_.units;
      row = experts_.first[expert] + skipped;
      rows = min(Shape::kTokens, experts_.rows[expert] - skipped);
    }
    int tileRow = within * a_.rowTiles;
    return {expert * a_.tileRows + tileRow, min(a_.rowTiles, a_.tileRows - tileRow), tileRow * kTileRows, row, rows};
  }

 private:
  __device__ __forceinline__ int expertOf(int unit) const {
    int expert = 0, above = a_.experts.count - 1;
    while (expert < above) {
      int middle = (expert + above) / 2;
      if (experts_.ends[middle] > unit) above = middle;
      else expert = middle + 1;
    }
    return expert;
  }

  const NarrowCodesArguments& a_;
  const NarrowCodesExperts& experts_;
};

/** Fills the table of the experts, whose units are passes over their weight, as many as rows take. All threads. */
template <typename Shape>
__device__ __forceinline__ void listNarrowExperts(const NarrowCodesExperts& table, const NarrowCodesArguments& a) {
  int lane = threadIdx.x % 32;
  if (threadIdx.x < 32) {
    for (int base = 0, before = 0; base < a.experts.count; base += 32) {
      int expert = base + lane, rows = expert < a.experts.count ? a.experts.rows[expert] : 0;
      int ends = (rows + Shape::kTokens - 1) / Shape::kTokens * a.units;
#pragma unroll
      for (int offset = 1; offset < 32; offset *= 2) {
        int below = __shfl_up_sync(0xffffffffu, ends, offset);
        if (lane >= offset) ends += below;
      }
      ends += before;
      if (expert < a.experts.count) {
        table.ends[expert] = ends;
        table.first[expert] = a.experts.first[expert];
        table.rows[expert] = rows;
      }
      before = __shfl_sync(0xffffffffu, ends, 31);
    }
  }
  __syncthreads();
}

}  // namespace octavo::cuda
