// How a launch of narrow_codes.cuh is cut: tiles of rows a block, blocks that share K, and what shared memory holds.
#pragma once

#include <algorithm>

#include "cuda/device/alignment.h"
#include "cuda/quantized/narrow_codes_share.cuh"

namespace octavo::cuda {

/** All but what the plan says. */
inline NarrowCodesArguments narrowCodesArgumentsOf(const Matrix& out, const Matrix& x, const QuantizedMatrix& weight,
                                                   const Vector& bias, const ExpertRows& experts) {
  NarrowCodesArguments a{};
  a.out = out;
  a.x = x;
  a.bias = bias;
  a.codes = static_cast<const uint8_t*>(weight.codes);
  a.scales = static_cast<const uint8_t*>(weight.scales);
  a.zeros = weight.zeros;
  a.experts = experts;
  a.tiles = static_cast<int32_t>(ceilDivide(weight.columns, kTileColumns));
  a.tileRows = static_cast<int32_t>(ceilDivide(out.columns, kTileRows));
  a.groups = static_cast<int32_t>(weight.groups);
  a.groupShift = groupShiftOf(weight);
  a.isBf16Scale = weight.scaleType == DType::kBF16;
  return a;
}

/**
 * How a product is cut. A block takes 1, 2 or 4 tiles of rows at once, and as many teams of warpgroups as that leaves
 * have each its part of a stage's tiles, of which a warpgroup multiplies `pairs` times two. Two blocks may share K; more
 * do not always find room side by side: 32 clusters of four took twice as long on an H200.
 */
struct NarrowCodesPlan {
  int rowTiles, ranks, blocks;
};

/** The longest share in tiles, those of x weighed by their bytes; a pass and an exchange of sums cost some eight. */
inline NarrowCodesPlan planNarrowCodes(const NarrowCodesArguments& a, int tokens, int64_t weights, int processors) {
  NarrowCodesPlan best{};
  double least = 1e30;
  for (int rowTiles : {4, 2, 1}) {
    const int64_t units = weights * ceilDivide(a.tileRows, rowTiles);
    for (int ranks : {1, 2}) {
      const int64_t clusters = std::min<int64_t>(units, processors / ranks), passes = ceilDivide(units, clusters);
      const double tile = rowTiles + tokens / 32.0, depth = static_cast<double>(ceilDivide(a.tiles, ranks));
      const double cost = static_cast<double>(passes) * (tile * depth + 8) + (ranks > 1 ? 8 : 0);
      if (cost >= least) continue;
      least = cost;
      best = {rowTiles, ranks, static_cast<int>(clusters) * ranks};
    }
  }
  return best;
}

constexpr int kNarrowSharedBytes = 227 << 10;

/** Lays the shared memory out and returns its bytes. */
template <typename Shape>
int layNarrowCodes(NarrowCodesArguments& a, const NarrowCodesPlan& plan) {
  const int teams = Shape::kGroups / plan.rowTiles;
  a.rowTiles = plan.rowTiles;
  a.pairs = teams == 1 ? 2 : 1;
  a.depth = teams * a.pairs * 2;
  a.units = static_cast<int32_t>(ceilDivide(a.tileRows, plan.rowTiles));
  a.stages = static_cast<int32_t>(ceilDivide(a.tiles, a.depth));
  a.groupSlots = std::max(1, a.depth * kTileColumns >> std::min(a.groupShift, 30));
  a.scalesAt = a.depth * (Shape::kTokenBytes + a.rowTiles * tileBytes(Shape::kBits));
  a.zerosAt = a.scalesAt + a.rowTiles * a.groupSlots * kTileRows * 2;
  const int zeros = a.zeros ? a.rowTiles * a.groupSlots * kTileRows : 0;
  a.stageBytes = (a.zerosAt + zeros + 1023) / 1024 * 1024;
  const bool isWhole = teams == 1 && plan.ranks == 1;
  const int sums = isWhole ? 0 : teams * Shape::kTokens * (a.rowTiles * kTileRows + 4) * 4;
  const int table = a.experts.count * 12;
  a.ringStages = std::min(8, (kNarrowSharedBytes - sums - table - 256) / a.stageBytes);
  a.sumsAt = a.ringStages * a.stageBytes;
  a.barriersAt = a.sumsAt + sums;
  a.tableAt = a.barriersAt + (a.ringStages + 1) * 16;
  return a.tableAt + table;
}

}  // namespace octavo::cuda
