// How Hopper's kernels divide a product into tiles, chosen by what each division is predicted to cost.
#pragma once

#include <cstdint>
#include <vector>

namespace octavo::cuda {

/** What the two blocks of a cluster share. */
enum class TileSharing {
  kNone,    // no cluster
  kX,       // rows of x, of tiles side by side: each loads half of them for both
  kWeight,  // rows of the weight, of tiles one above the other
  kDepth,   // a tile: each takes half of K, and finishes half of the columns
};

struct LinearPlan {
  int rows = 0;     // of a tile: 64, the fitted kernel's, or 128, the wide one's
  int columns = 0;  // of a tile
  TileSharing sharing = TileSharing::kNone;
  double clocks = 0;  // predicted, of the whole product
};

/** Tiles of which the kernels have instances. */
constexpr int kFittedRows = 64, kWideRows = 128;
constexpr int kFittedColumns[] = {16, 32, 48, 64, 96, 128, 192, 224, 256};
constexpr int kWideColumns[] = {64, 128, 192, 256};

/** Every division of out [rows, columns] = x [rows, depth] · weightᵀ that can be launched. */
std::vector<LinearPlan> linearPlans(int64_t rows, int64_t columns, int64_t depth, int multiprocessors);

/** The cheapest of them. */
LinearPlan planLinear(int64_t rows, int64_t columns, int64_t depth, int multiprocessors);

}  // namespace octavo::cuda
