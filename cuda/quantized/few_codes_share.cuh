// What a block of few_codes.cuh works on, as passes: some strips of the weight, and the rows of x that they meet.
#pragma once

#include "cuda/device/floats.cuh"
#include "cuda/ptx/cluster.cuh"
#include "cuda/quantized/tiles.cuh"
#include "ops/expert_rows.h"
#include "ops/tensor.h"

namespace octavo::cuda {

struct FewCodesArguments {
  Matrix out, x;
  Vector bias;
  const uint8_t* codes;
  const uint8_t* scales;
  const uint8_t* zeros;
  ExpertRows experts;           // of a product of groups
  int32_t tiles, strips;        // along K; of 16 rows, of all of the weight or of an expert
  int32_t groups, groupShift;   // group = column >> groupShift
  int32_t blockStrips;          // strips a block, or a cluster; experts: whatever comes out even
  int32_t passStrips;           // of them at once, at most what the warps of a team have
  int32_t teamWarps, stages;
  int32_t stageBytes, warpBytes, codesAt, sumsAt, expertsAt;  // see FewCodesPlan
  bool isBf16Scale;
};

template <int kBits_, DType kType_, int kRows_, bool kGrouped_>
struct FewCodesShape {
  static constexpr int kBits = kBits_, kRows = kRows_, kEights = kRows / 8;
  static constexpr DType kType = kType_;
  static constexpr bool kGrouped = kGrouped_;
  static constexpr bool kIsCommon = kBits == 3 || kBits == 4;  // others have fewer forms
  static constexpr int kWarps = kRows <= 16 ? 16 : 8, kThreads = kWarps * 32;  // 32 rows take twice the registers
  static constexpr int kWarpStrips = kBits == 8 ? 2 : 4;                      // 2 KB of codes, or less
  static constexpr int kWarpCodes = kWarpStrips * stripBytes(kBits);
};

/** Strips [strip, strip + count) of the weight with rows [row, row + rows) of x; count 0: there is no such pass. */
struct FewCodesPass {
  int strip, count, row, rows;
};

/** The strips that a block, or a cluster of two that take half of K each, has of one weight. */
template <typename Shape>
class FewCodesShare {
 public:
  int first, end;

  __device__ __forceinline__ FewCodesShare(const FewCodesArguments& a, const uint8_t*) : a_(a) {
    first = static_cast<int>(blockIdx.x / ptx::clusterSize()) * a.blockStrips;
    end = min(first + a.blockStrips, a.strips);
  }
  /** That which begins at `unit`. */
  __device__ __forceinline__ FewCodesPass pass(int unit) const {
    return {unit, max(0, min(a_.passStrips, end - unit)), 0, static_cast<int>(a_.x.rows)};
  }
  /** The column of the output where a strip's numbers begin. */
  __device__ __forceinline__ int column(int strip) const { return strip * kStripRows; }

 private:
  const FewCodesArguments& a_;
};

/** What a block keeps of the experts: where the units of each end, its first row and its rows; each [experts]. */
struct FewCodesExperts {
  int *ends, *first, *rows;
  __device__ __forceinline__ FewCodesExperts(uint8_t* at, int count)
      : ends(reinterpret_cast<int*>(at)), first(ends + count), rows(first + count) {}
};

/**
 * Fills the table of the experts, whose units are the strips of as many passes over their weight as their rows take.
 * All threads; `sums`: shared, a number a warp.
 */
template <typename Shape>
__device__ __forceinline__ void listExperts(const FewCodesExperts& table, int* sums, const ExpertRows& experts,
                                            int strips) {
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32, before = 0;
  for (int base = 0; base < experts.count; base += Shape::kThreads) {
    int e = base + static_cast<int>(threadIdx.x);
    bool isExpert = e < experts.count;
    int rows = isExpert ? experts.rows[e] : 0, first = isExpert ? experts.first[e] : 0;
    int units = (rows + Shape::kRows - 1) / Shape::kRows * strips;
#pragma unroll
    for (int offset = 1; offset < 32; offset *= 2) {
      int below = __shfl_up_sync(0xffffffffu, units, offset);
      if (lane >= offset) units += below;
    }
    if (lane == 31) sums[warp] = units;
    __syncthreads();
    int total = before;
    for (int w = 0; w < Shape::kWarps; ++w) {
      if (w == warp) units += total;
      total += sums[w];
    }
    if (isExpert) {
      table.ends[e] = units;
      table.first[e] = first;
      table.rows[e] = rows;
    }
    before = total;
    __syncthreads();
  }
}

/** The same of the experts that have rows: units of all of them, spread evenly over the blocks. */
template <typename Shape>
class FewCodesExpertShare {
 public:
  int first, end;

  __device__ __forceinline__ FewCodesExpertShare(const FewCodesArguments& a, uint8_t* shared)
      : a_(a), table_(shared + a.expertsAt, a.experts.count) {
    listExperts<Shape>(table_, reinterpret_cast<int*>(shared + a.sumsAt), a.experts, a.strips);
    int64_t total = table_.ends[a.experts.count - 1];
    first = static_cast<int>(total * blockIdx.x / gridDim.x);
    end = static_cast<int>(total * (blockIdx.x + 1) / gridDim.x);
  }
  __device__ __forceinline__ FewCodesPass pass(int unit) const {
    if (unit >= end) return {unit, 0, 0, 0};
    int expert = 0, above = a_.experts.count - 1;
    while (expert < above) {
      int middle = (expert + above) / 2;
      if (table_.ends[middle] > unit) above = middle;
      else expert = middle + 1;
    }
    int within = unit - (expert ? table_.ends[expert - 1] : 0), chunk = within / a_.strips;
    int strip = within - chunk * a_.strips, skipped = chunk * Shape::kRows;
    int count = min(min(a_.passStrips, a_.strips - strip), end - unit);
    return {expert * a_.strips + strip, count, table_.first[expert] + skipped,
            min(Shape::kRows, table_.rows[expert] - skipped)};
  }
  __device__ __forceinline__ int column(int strip) const { return strip % a_.strips * kStripRows; }

 private:
  const FewCodesArguments& a_;
  FewCodesExperts table_;
};

}  // namespace octavo::cuda
