// How a product of 8-bit codes is cut: tiles, the ring that feeds them, and who does what in a pair of blocks.
#pragma once

#include <cuda.h>

#include "cuda/ptx/cluster.cuh"
#include "cuda/ptx/mbarrier.cuh"
#include "cuda/ptx/warp_mma.cuh"
#include "ops/expert_rows.h"
#include "ops/tensor.h"

namespace octavo::cuda::w8a8 {

constexpr int kDepth = 128;  // codes of K a stage: rows of 128 bytes, and a block of scales
constexpr int kGroups = 2;   // warpgroups that multiply
constexpr int kThreads = 128 * (1 + kGroups);
constexpr int kSharedLimit = 232448, kAlignment = 1024, kMostStages = 16;

/** What the two blocks of a cluster share. */
enum class Pairing {
  kNone,    // no cluster
  kX,       // rows of x: each loads half of them for both
  kWeight,  // rows of the weight
  kDepth,   // a tile: each takes half of K, and finishes the part of the warpgroup that has its rank
};

/** Which scales an element has. */
enum class Scaling {
  kRow,    // one a row of x, one a row of the weight
  kBlock,  // the same for every block of 128 columns; a row of the weight shares them with its block of 128
};

/** A warpgroup multiplies kTiles × 64 rows of x with kColumns rows of the weight; two lie along rows or columns. */
template <int kTiles_, int kColumns_, bool kAlongRows_, Pairing kPairing_, bool kGrouped_ = false>
struct Shape {
  static constexpr bool kGrouped = kGrouped_;  // the rows of x belong to experts, each with a weight of its own
  static constexpr int kTiles = kTiles_, kGroupColumns = kColumns_, kGroupRows = kTiles * 64;
  static constexpr bool kAlongRows = kAlongRows_;
  static constexpr Pairing kPairing = kPairing_;
  static constexpr int kRows = kGroupRows * (kAlongRows ? kGroups : 1);
  static constexpr int kColumns = kGroupColumns * (kAlongRows ? 1 : kGroups);
  static constexpr int kSums = kGroupColumns / 2;  // a thread and tile
  static constexpr int kFeedRegisters = kTiles > 1 ? 24 : 40, kSumRegisters = kTiles > 1 ? 240 : 232;
  static constexpr int kBlocks = kPairing == Pairing::kNone ? 1 : 2;
  static constexpr int kPairRows = kPairing == Pairing::kWeight ? 2 : 1;
  static constexpr int kPairColumns = kPairing == Pairing::kX ? 2 : 1;

  static constexpr int kXBytes = kRows * kDepth, kWeightBytes = kColumns * kDepth, kScaleBytes = kRows * 4 + (kGrouped ? 16 : 0);
  static constexpr int kStageBytes = kXBytes + kWeightBytes;
  static constexpr int kOutBytes = kGroups * 8192;  // 64 × 64 outputs of 16 bits a warpgroup
  static constexpr int kFoldBytes = kPairing == Pairing::kDepth ? kTiles * kSums * 128 * 4 : 0;
  static constexpr int kTermBytes = kGroups * 3 * 128 * 4;  // scales and biases of a warpgroup's rows and columns
  static constexpr int kFixedBytes = kAlignment + kOutBytes + kFoldBytes + kTermBytes + 2 * kMostStages * 8 + 8;
  static constexpr int kFitting = (kSharedLimit - kFixedBytes) / (kStageBytes + kScaleBytes);
  static constexpr int kStages = kFitting < kMostStages ? kFitting : kMostStages;
  static constexpr int kSharedBytes = kFixedBytes + kStages * (kStageBytes + kScaleBytes);
};

struct Arguments {
  CUtensorMap x, weight, outMap;
  Matrix out;
  Vector bias;
  const float* xScales;  // [rows], or [⌈K / 128⌉][xScaleStride]
  int32_t xScaleStride;  // a multiple of 4
  Vector weightScales;   // [⌈columns / groupRows⌉, steps or 1]
  int32_t groupRows;
  int32_t steps;         // along K
  int32_t rowTiles, columnTiles;
  int32_t boxRows;       // of x that a copy brings
  bool storesTiles;      // the output is of 16 bits and aligned: stored by the copy engine
  ExpertRows experts;    // of a grouped product; the weight of one is out.columns rows
};

/** Where things lie in shared memory, as its addresses. */
template <typename S>
struct Shared {
  uint32_t stages, out, fold, terms, scales, full, empty, folded;
  __device__ __forceinline__ explicit Shared(const void* base) {
    stages = (ptx::sharedAddress(base) + kAlignment - 1) & ~(kAlignment - 1u);
    out = stages + S::kStages * S::kStageBytes;
    fold = out + S::kOutBytes;
    terms = fold + S::kFoldBytes;
    scales = terms + S::kTermBytes;
    full = scales + S::kStages * S::kScaleBytes;
    empty = full + S::kStages * 8;
    folded = empty + S::kStages * 8;
  }
};

/** A position in the ring, and the parity of its lap. */
template <typename S>
struct Slot {
  int index = 0;
  uint32_t parity = 0;
  __device__ __forceinline__ void advance() {
    if (++index == S::kStages) {
      index = 0;
      parity ^= 1;
    }
  }
};

/** A tile's first output, the row that follows its last, and the first row of the weight. */
struct Place {
  int row, column, endRow, weightRow;
};

/** What this block does: every `stride`-th pair of tiles from `first` on, steps [firstStep, endStep) of each. */
template <typename S>
struct Work {
  static constexpr int kBand = 16;  // rows of pairs whose strips are read at one time stay in L2
  const Arguments& a;
  int first, stride, rank, firstStep, endStep;

  __device__ __forceinline__ explicit Work(const Arguments& arguments) : a(arguments) {
    rank = S::kBlocks == 1 ? 0 : static_cast<int>(ptx::clusterRank());
    first = blockIdx.x / S::kBlocks;
    stride = gridDim.x / S::kBlocks;
    int half = (a.steps + 1) / 2;
    firstStep = S::kPairing == Pairing::kDepth && rank == 1 ? half : 0;
    endStep = S::kPairing == Pairing::kDepth && rank == 0 ? half : a.steps;
  }
  __device__ __forceinline__ int steps() const { return endStep - firstStep; }
};

/** A block's tiles, one after the other. */
template <typename S>
struct Tiles {
  const Work<S>& work;
  int index;
  int expert = 0, before = 0;  // of a grouped product: where the last tile was, and the tiles of the experts before

  __device__ __forceinline__ explicit Tiles(const Work<S>& of) : work(of), index(of.first) {}

  /** False after the last. */
  __device__ __forceinline__ bool next(Place& place) {
    if constexpr (S::kGrouped) return nextOfExperts(place);
    const Arguments& a = work.a;
    int pairRows = (a.rowTiles + S::kPairRows - 1) / S::kPairRows;
    int pairColumns = (a.columnTiles + S::kPairColumns - 1) / S::kPairColumns;
    if (index >= pairRows * pairColumns) return false;
    int perBand = Work<S>::kBand * pairColumns, band = index / perBand, within = index % perBand;
    int rows = min(Work<S>::kBand, pairRows - band * Work<S>::kBand);
    int row = (band * Work<S>::kBand + within % rows) * S::kPairRows, column = within / rows * S::kPairColumns;
    if (S::kPairing == Pairing::kWeight) row += work.rank;
    if (S::kPairing == Pairing::kX) column += work.rank;
    column *= S::kColumns;
    place = {row * S::kRows, column, static_cast<int>(a.out.rows), column};
    index += work.stride;
    return true;
  }

 private:
  /** The tiles of an expert's rows one after the other, then the next strip of its weight. */
  __device__ __forceinline__ bool nextOfExperts(Place& place) {
    const Arguments& a = work.a;
    for (; expert < a.experts.count; ++expert) {
      int rows = a.experts.rows[expert], rowTiles = (rows + S::kRows - 1) / S::kRows;
      int within = index - before;
      if (within >= rowTiles * a.columnTiles) {
        before += rowTiles * a.columnTiles;
        continue;
      }
      int first = a.experts.first[expert], column = within / rowTiles * S::kColumns;
      place = {first + within % rowTiles * S::kRows, column, first + rows,
               expert * static_cast<int>(a.out.columns) + column};
      index += work.stride;
      return true;
    }
    return false;
  }
};

}  // namespace octavo::cuda::w8a8
