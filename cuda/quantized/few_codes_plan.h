// How a launch of few_codes.cuh is cut: blocks, teams of warps, and what their shared memory holds.
#pragma once

#include <algorithm>

#include "cuda/device/alignment.h"
#include "cuda/device/device_traits.h"
#include "cuda/quantized/few_codes_share.cuh"

namespace octavo::cuda {

/** What a kernel has fixed. */
struct FewCodesBounds {
  int rows, warps, warpStrips, warpCodes;
  bool isGrouped;

  template <typename Shape>
  static FewCodesBounds of() {
    return {Shape::kRows, Shape::kWarps, Shape::kWarpStrips, Shape::kWarpCodes, Shape::kGrouped};
  }
};

struct FewCodesPlan {
  int ranks = 1, blocks = 1, sharedBytes = 0;

  static int sharedLimit(const DeviceTraits& traits) { return (traits.architecture < 90 ? 163 : 227) << 10; }
};

constexpr int kMostFewStages = 5, kMostTeamWarps = 4;

/** Strips and tiles are left to the plan. */
inline FewCodesArguments fewCodesArgumentsOf(const Matrix& out, const Matrix& x, const QuantizedMatrix& weight,
                                             const Vector& bias, const ExpertRows& experts) {
  FewCodesArguments a{};
  a.out = out;
  a.x = x;
  a.bias = bias;
  a.codes = static_cast<const uint8_t*>(weight.codes);
  a.scales = static_cast<const uint8_t*>(weight.scales);
  a.zeros = weight.zeros;
  a.experts = experts;
  a.tiles = static_cast<int32_t>(ceilDivide(weight.columns, kTileColumns));
  a.strips = static_cast<int32_t>(ceilDivide(out.columns, kStripRows));
  a.groups = static_cast<int32_t>(weight.groups);
  a.groupShift = groupShiftOf(weight);
  a.isBf16Scale = weight.scaleType == DType::kBF16;
  return a;
}

/** Rows of x that meet a weight at once; of experts, those that one may be expected to have, twice over. */
inline int64_t fewCodesRowsOf(const Matrix& x, const ExpertRows& experts) {
  if (experts.count == 0) return x.rows;
  return std::min<int64_t>(experts.mostRows, 2 * ceilDivide(x.rows, experts.count));
}

/**
 * Shares of strips: two blocks take half of K each where that evens them out, gives a warp all the strips that it can
 * have, or lets rows of x be read less often.
 */
inline void shareFewStrips(FewCodesArguments& a, FewCodesPlan& plan, const FewCodesBounds& of,
                           const DeviceTraits& traits) {
  const int most = of.warpStrips * kMostTeamWarps;
  if (of.isGrouped) {
    const int64_t active = std::min<int64_t>(a.experts.count, a.x.rows);
    plan.blocks = traits.multiprocessors;
    a.blockStrips = static_cast<int32_t>(ceilDivide(active * a.strips, plan.blocks));
    a.passStrips = std::min({most, a.blockStrips, a.strips});
    return;
  }
  const auto alone = static_cast<int>(ceilDivide(a.strips, traits.multiprocessors));
  const auto paired = static_cast<int>(ceilDivide(a.strips, std::max(1, traits.multiprocessors / 2)));
  const bool sharesMore = alone < of.warpStrips || (of.rows > 8 && paired <= most);
  const bool isPaired = paired < 2 * alone || (paired == 2 * alone && sharesMore);
  plan.ranks = traits.architecture >= 90 && a.tiles > 1 && isPaired ? 2 : 1;
  a.blockStrips = plan.ranks == 2 ? paired : alone;
  plan.blocks = static_cast<int>(ceilDivide(a.strips, a.blockStrips)) * plan.ranks;
  a.passStrips = static_cast<int>(ceilDivide(a.blockStrips, ceilDivide(a.blockStrips, most)));
}

/**
 * Lays the shared memory out for teams of `warps` and returns its bytes, with as many stages as fit. The sums of a
 * block's only pass take the place of its stages.
 */
inline int layFewCodes(FewCodesArguments& a, int warps, const FewCodesBounds& of, int limit) {
  const int teams = of.warps / warps, rows = of.isGrouped ? of.rows : static_cast<int>(a.x.rows);
  a.teamWarps = warps;
  a.warpBytes = of.warpCodes + (a.groupShift < 6 ? 2 : 1) * 3 * kTileRows;
  a.codesAt = teams * rows * 128;
  a.stageBytes = a.codesAt + of.warps * a.warpBytes;
  const int sums = teams * rows * (warps * of.warpStrips * kStripRows + 4) * 4;
  const int experts = a.experts.count * 3 * 4;
  const bool isAlone = !of.isGrouped && a.passStrips == a.blockStrips;
  a.stages = std::min(kMostFewStages, (limit - (isAlone ? 0 : sums) - experts) / a.stageBytes);
  a.sumsAt = isAlone ? 0 : a.stages * a.stageBytes;
  a.expertsAt = std::max(a.sumsAt + sums, a.stages * a.stageBytes);
  return a.expertsAt + experts;
}

/** Teams as small as a pass allows: then the fewest warps wait for each other. */
inline FewCodesPlan planFewCodes(FewCodesArguments& a, const FewCodesBounds& of, const DeviceTraits& traits) {
  FewCodesPlan plan;
  shareFewStrips(a, plan, of, traits);
  int warps = 1;
  while (warps < kMostTeamWarps && warps * of.warpStrips < a.passStrips) warps *= 2;
  const int limit = FewCodesPlan::sharedLimit(traits);
  plan.sharedBytes = layFewCodes(a, warps, of, limit);
  while (a.stages < 2 && warps < kMostTeamWarps) plan.sharedBytes = layFewCodes(a, warps *= 2, of, limit);
  return plan;
}

}  // namespace octavo::cuda
