// What a tile costs a multiprocessor for each 64 of K, in clocks, is the largest of four:
//   products        2 · columns for each 64 rows (m64nNk16 takes N / 2), and the waits between steps
//   shared memory   what is written to it and read from it, at 128 bytes a clock
//   its port        what is written to it, at 64 bytes a clock
//   L2              what is read from there, at 56 bytes a clock; half of what a cluster shares
// A product takes as many waves of that as it has tiles for each multiprocessor, but no less than reading the weight,
// which needs enough bytes under way. Two blocks that divide K read half as much each for a tile twice as large: where
// a matrix is narrow that takes x from the L2 less often.
//
// The rates are an H200's; the ratios between them are much the same on an H100, whose memory is slower: there more
// plans are equally good, bound by it.
#include "cuda/gemm/linear_plan.h"

#include <algorithm>

#include "cuda/device/alignment.h"

namespace octavo::cuda {

namespace {

constexpr double kRowBytes = 128;          // 64 elements of 16 bits
constexpr double kSharedMemoryRate = 142;  // bytes a clock: 128, and some reads of two warpgroups are one
constexpr double kPortRate = 64, kL2Rate = 56;
constexpr double kMemoryRate = 17.7;       // of each multiprocessor's share, at 4.1 TB/s
constexpr double kRingBytes = 200e3, kMemoryLatency = 2000;
constexpr double kStepClocks = 24;
constexpr double kTileClocks = 600;        // its first products and its stores
constexpr double kFoldClocks = 1500;       // where two blocks divide K: until their sums have met
constexpr double kHidden = 0.25;           // of the lesser of memory and multiprocessors: they disturb each other
constexpr double kDivision = 1.08;         // a row's last bits then depend on the number of rows: it must pay
constexpr double kLockstep = 1.15;         // at each step blocks of a cluster wait for the slower of them
constexpr int64_t kLeastDivided = 2048;    // of K
constexpr int64_t kMostFittedRows = 256;   // more keep the tensor cores busy: the wide kernel's larger tiles

struct Product {
  int64_t rows = 0, columns = 0, depth = 0;
  int multiprocessors = 0;
  bool operator==(const Product&) const = default;
};

/** For each 64 of K; `rows` those of x that a tile reads. */
double stepClocks(const LinearPlan& plan, double rows) {
  const double groups = plan.rows / 64.0, columns = plan.columns, read = rows + columns;
  const double shared = plan.sharing == TileSharing::kX ? rows : plan.sharing == TileSharing::kWeight ? columns : 0;
  const double products = 2 * columns * groups + kStepClocks;
  const double memory = (read + groups * (64 + columns)) * kRowBytes / kSharedMemoryRate;
  const double port = read * kRowBytes / kPortRate, l2 = (read - shared / 2) * kRowBytes / kL2Rate;
  return std::max({products, memory, port, l2});
}

double clocksOf(const Product& of, const LinearPlan& plan) {
  const bool sharesX = plan.sharing == TileSharing::kX, sharesWeight = plan.sharing == TileSharing::kWeight;
  const int parts = plan.sharing == TileSharing::kDepth ? 2 : 1;
  const int blocks = plan.sharing == TileSharing::kNone ? 1 : 2;  // of a cluster
  const int64_t rowTiles = ceilDivide(of.rows, plan.rows), columnTiles = ceilDivide(of.columns, plan.columns);
  const int64_t clusters = ceilDivide(rowTiles, sharesWeight ? 2 : 1) * ceilDivide(columnTiles, sharesX ? 2 : 1);
  const int64_t places = std::max(1, of.multiprocessors / blocks);
  const auto waves = static_cast<double>(ceilDivide(clusters, places));
  const double rows = static_cast<double>(std::min<int64_t>(of.rows, plan.rows));
  const double steps = static_cast<double>(ceilDivide(of.depth, 64)) / parts;
  const double tile = steps * stepClocks(plan, rows) + kTileClocks + (parts > 1 ? kFoldClocks : 0);
  const double work = waves * tile;
  const double resident = static_cast<double>(std::min(rowTiles * columnTiles * parts, places * blocks));
  const double underWay = kRingBytes * plan.columns / (rows + plan.columns) / (rowTiles > 1 ? 2 : 1);
  const double rate = std::min(kMemoryRate * of.multiprocessors, resident * underWay / kMemoryLatency);
  const double memory = static_cast<double>(of.columns) * static_cast<double>(of.depth) * 2 / rate;
  const double clocks = std::max(work, memory) + kHidden * std::min(work, memory);
  return clocks * (sharesX || sharesWeight ? kLockstep : parts > 1 ? kDivision : 1);
}

template <typename Take>
void forEachPlan(const Product& of, const Take& take) {
  const auto add = [&](int rows, int columns, TileSharing sharing) {
    LinearPlan plan{rows, columns, sharing, 0};
    plan.clocks = clocksOf(of, plan);
    take(plan);
  };
  if (of.rows <= kMostFittedRows) {
    for (int columns : kFittedColumns) {
      add(kFittedRows, columns, TileSharing::kNone);
      if (of.depth >= kLeastDivided) add(kFittedRows, columns, TileSharing::kDepth);
      add(kFittedRows, columns, of.rows > kFittedRows ? TileSharing::kWeight : TileSharing::kX);
    }
  }
  if (of.rows <= kFittedRows) return;
  for (int columns : kWideColumns) add(kWideRows, columns, TileSharing::kNone);
}

LinearPlan cheapest(const Product& of) {
  LinearPlan best;
  forEachPlan(of, [&](const LinearPlan& plan) {
    // Of few rows the weight is most of what is read: K divided gains nothing then, and rows keep their bits.
    if (plan.sharing == TileSharing::kDepth && of.rows <= kFittedRows) return;
    // Of equals the later one: it has more columns, and reads x less often.
    if (best.columns == 0 || plan.clocks <= best.clocks) best = plan;
  });
  return best;
}

}  // namespace

std::vector<LinearPlan> linearPlans(int64_t rows, int64_t columns, int64_t depth, int multiprocessors) {
  std::vector<LinearPlan> plans;
  forEachPlan({rows, columns, depth, multiprocessors}, [&](const LinearPlan& plan) { plans.push_back(plan); });
  return plans;
}

// A step asks again for what each of its layers asks: half a microsecond each.
LinearPlan planLinear(int64_t rows, int64_t columns, int64_t depth, int multiprocessors) {
  struct Known {
    Product of;
    LinearPlan plan;
  };
  thread_local Known known[16];
  const Product of{rows, columns, depth, multiprocessors};
  Known& at = known[static_cast<uint64_t>(columns / 64 + depth / 64 * 5 + rows * 3) % 16];
  if (!(at.of == of)) at = {of, cheapest(of)};
  return at.plan;
}

}  // namespace octavo::cuda
