// A multiprocessor computes its tiles one after the other, or two at a time at half the speed: what counts is how many
// the busiest one has. For each 64 of K a tile takes the larger of its products, at the rate its kernel reaches, and of
// what it reads from the L2; all together no less than reading the weight.
//
// Products, FLOPs a clock of a multiprocessor, from what the kernels reach on an H200 at 1.755 GHz (large_gemm.cu):
// 285 TFLOP/s with tiles of 64 × 128, 420 with 128 × 256. Both are below mma.sync's rate on an A100, 2048 (whitepaper),
// where they were not measured. Tiles of 64 × 32 read twice as many fragments a product as those of 64 × 128, and are
// reckoned at two thirds of their rate: not measured either.
#include "cuda/gemm/ampere_plan.h"

#include <algorithm>

#include "cuda/device/alignment.h"
#include "cuda/gemm/card_rates.h"

namespace octavo::cuda {

namespace {

constexpr double kRowBytes = 128;          // 64 elements of 16 bits
constexpr double kMemoryLatency = 2000;    // clocks, of a card at work
constexpr double kTileClocks = 1000;       // its first copies and its stores
constexpr double kHidden = 0.25;           // of the lesser of memory and multiprocessors: they disturb each other
constexpr int64_t kMostBlocks = int64_t{1} << 30;

struct AmpereKernel {
  double flops;      // a clock
  double ringBytes;  // of a multiprocessor, less the stage that is multiplied
};

AmpereKernel kernelOf(const LinearTile& tile) {
  if (tile.columns == 32) return {820, 2 * 5 * 96 * kRowBytes};
  if (tile.columns == 128) return {1230, 2 * 3 * 192 * kRowBytes};
  return {1810, 2 * 384 * kRowBytes};
}

}  // namespace

bool canUseAmpereTile(const LinearShape& shape, const LinearTile& tile) {
  if (tile.rows != kLargeRows) return true;
  const int64_t blocks = ceilDivide(shape.rows, kLargeRows) * ceilDivide(shape.columns, kLargeColumns);
  return shape.rows >= kLargeRows && shape.columns >= kLargeColumns && blocks < kMostBlocks;
}

double ampereClocks(const LinearShape& shape, const LinearTile& tile, const DeviceTraits& traits) {
  const CardRates rates = ratesOf(traits.card);
  const AmpereKernel kernel = kernelOf(tile);
  const double rows = tile.rows, columns = tile.columns, steps = static_cast<double>(ceilDivide(shape.depth, 64));
  const int64_t tiles = ceilDivide(shape.rows, tile.rows) * ceilDivide(shape.columns, tile.columns);
  const double products = 2 * 64 * rows * columns / kernel.flops, l2 = (rows + columns) * kRowBytes / rates.l2;
  const double each = steps * std::max(products, l2) + kTileClocks;
  const double work = static_cast<double>(ceilDivide(tiles, traits.multiprocessors)) * each;
  const double busy = static_cast<double>(std::min<int64_t>(tiles, traits.multiprocessors));
  const double underWay = kernel.ringBytes * columns / (rows + columns);
  const double rate = busy * std::min(rates.memory, underWay / kMemoryLatency);
  const double memory = static_cast<double>(shape.columns) * static_cast<double>(shape.depth) * 2 / rate;
  return std::max(work, memory) + kHidden * std::min(work, memory);
}

}  // namespace octavo::cuda
