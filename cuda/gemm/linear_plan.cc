// What a tile costs a multiprocessor for each 64 of K, in clocks, is the largest of four:
//   products        2 · columns for each 64 rows (m64nNk16 takes N / 2), and the waits between steps
//   shared memory   what is written to it and read from it, at 128 bytes a clock
//   its port        what is written to it, at 64 bytes a clock
//   L2              what is read from there, at the card's rate; half of what a cluster shares
// A product takes as many waves of that as it has tiles for each multiprocessor, but no less than reading the weight,
// which needs enough bytes under way. Two blocks that divide K read half as much each for a tile twice as large: where
// a matrix is narrow that takes x from the L2 less often.
//
// The rates of memory and L2 are the card's (card_rates.cc). Where memory is slower, as on an H100, more plans are equally
// good, bound by it. Before Hopper: ampere_plan.cc.
#include "cuda/gemm/linear_plan.h"

#include <algorithm>

#include "cuda/device/alignment.h"
#include "cuda/gemm/ampere_plan.h"
#include "cuda/gemm/card_rates.h"

namespace octavo::cuda {

namespace {

constexpr double kRowBytes = 128;          // 64 elements of 16 bits
constexpr double kSharedMemoryRate = 142;  // bytes a clock: 128, and some reads of two warpgroups are one
constexpr double kPortRate = 64;
constexpr double kRingBytes = 200e3, kMemoryLatency = 2000;
constexpr double kStepClocks = 24;
constexpr double kTileClocks = 600;        // its first products and its stores
constexpr double kFoldClocks = 1500;       // where two blocks divide K: until their sums have met
constexpr double kHidden = 0.25;           // of the lesser of memory and multiprocessors: they disturb each other
constexpr double kLockstep = 1.05;         // at each step blocks of a cluster wait for the slower of them
constexpr double kDivided = 1.15;          // what it took over what was foreseen, beside plans that do not divide K
constexpr int64_t kLeastDivided = 2048;    // of K
constexpr int64_t kMostFittedRows = 256;   // more keep the tensor cores busy: the wide kernel's larger tiles

/** For each 64 of K; `rows` those of x that a tile reads. */
double stepClocks(const LinearTile& plan, double rows, double l2Rate) {
  const double groups = plan.rows / 64.0, columns = plan.columns, read = rows + columns;
  const double shared = plan.sharing == TileSharing::kX ? rows : plan.sharing == TileSharing::kWeight ? columns : 0;
  const double products = 2 * columns * groups + kStepClocks;
  const double memory = (read + groups * (64 + columns)) * kRowBytes / kSharedMemoryRate;
  const double port = read * kRowBytes / kPortRate, l2 = (read - shared / 2) * kRowBytes / l2Rate;
  return std::max({products, memory, port, l2});
}

double hopperClocks(const LinearShape& of, const LinearTile& plan, const DeviceTraits& traits) {
  const CardRates rates = ratesOf(traits.card);
  const bool sharesX = plan.sharing == TileSharing::kX, sharesWeight = plan.sharing == TileSharing::kWeight;
  const int parts = plan.sharing == TileSharing::kDepth ? 2 : 1;
  const int blocks = plan.sharing == TileSharing::kNone ? 1 : 2;  // of a cluster
  const int64_t rowTiles = ceilDivide(of.rows, plan.rows), columnTiles = ceilDivide(of.columns, plan.columns);
  const int64_t clusters = ceilDivide(rowTiles, sharesWeight ? 2 : 1) * ceilDivide(columnTiles, sharesX ? 2 : 1);
  const int64_t places = std::max(1, traits.multiprocessors / blocks);
  const auto waves = static_cast<double>(ceilDivide(clusters, places));
  const double rows = static_cast<double>(std::min<int64_t>(of.rows, plan.rows));
  const double steps = static_cast<double>(ceilDivide(of.depth, 64)) / parts;
  const double tile = steps * stepClocks(plan, rows, rates.l2) + kTileClocks + (parts > 1 ? kFoldClocks : 0);
  const double work = waves * tile;
  const double resident = static_cast<double>(std::min(rowTiles * columnTiles * parts, places * blocks));
  const double underWay = kRingBytes * plan.columns / (rows + plan.columns) / (rowTiles > 1 ? 2 : 1);
  const double rate = std::min(rates.memory * traits.multiprocessors, resident * underWay / kMemoryLatency);
  const double memory = static_cast<double>(of.columns) * static_cast<double>(of.depth) * 2 / rate;
  const double clocks = std::max(work, memory) + kHidden * std::min(work, memory);
  return clocks * (sharesX || sharesWeight ? kLockstep : parts > 1 ? kDivided : 1);
}

template <typename Take>
void forEachTile(const LinearShape& of, const DeviceTraits& traits, const Take& take) {
  if (traits.architecture < 90) {
    for (const LinearTile& tile : kAmpereTiles) {
      if (canUseAmpereTile(of, tile)) take(tile);
    }
    return;
  }
  if (of.rows <= kMostFittedRows) {
    for (int columns : kFittedColumns) {
      take({kFittedRows, columns, TileSharing::kNone});
      if (of.depth >= kLeastDivided) take({kFittedRows, columns, TileSharing::kDepth});
      take({kFittedRows, columns, of.rows > kFittedRows ? TileSharing::kWeight : TileSharing::kX});
    }
  }
  if (of.rows <= kFittedRows) return;
  for (int columns : kWideColumns) take({kWideRows, columns, TileSharing::kNone});
}

}  // namespace

double clocksOf(const LinearShape& shape, const LinearTile& tile, const DeviceTraits& traits) {
  return traits.architecture < 90 ? ampereClocks(shape, tile, traits) : hopperClocks(shape, tile, traits);
}

std::vector<LinearPlan> linearPlans(const LinearShape& shape, const DeviceTraits& traits) {
  std::vector<LinearPlan> plans;
  forEachTile(shape, traits,
              [&](const LinearTile& tile) { plans.push_back({tile, clocksOf(shape, tile, traits)}); });
  return plans;
}

LinearPlan planLinear(const LinearShape& shape, const DeviceTraits& traits) {
  LinearPlan best;
  forEachTile(shape, traits, [&](const LinearTile& tile) {
    if (tile.sharing == TileSharing::kDepth && !mayDivideDepth(shape.rows)) return;
    const LinearPlan plan{tile, clocksOf(shape, tile, traits)};
    // Of equals the later one: it has more columns, and reads x less often.
    if (best.columns == 0 || plan.clocks <= best.clocks) best = plan;
  });
  return best;
}

}  // namespace octavo::cuda
