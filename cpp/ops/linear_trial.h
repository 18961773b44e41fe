// The division of a product into tiles as something to be measured: what is tried, and what came of it.
#pragma once

#include <cstdint>
#include <iterator>
#include <vector>

#include "ops/tensor.h"

namespace octavo {

/** What the two blocks of a cluster share. */
enum class TileSharing : uint8_t {
  kNone,    // no cluster
  kX,       // rows of x, of tiles side by side: each loads half of them for both
  kWeight,  // rows of the weight, of tiles one above the other
  kDepth,   // a tile: each takes half of K, and finishes half of the columns
};
constexpr int kTileSharings = 4;

/** Of a product's output, as one block computes it. */
struct LinearTile {
  int32_t rows = 0, columns = 0;
  TileSharing sharing = TileSharing::kNone;
  bool operator==(const LinearTile&) const = default;
};

/** Rows of x for which one measurement holds: up to each of these, from the one before it. Fewer, and more, are planned. */
constexpr int64_t kTunedRows[] = {32, 64, 128, 256, 512, 1024, 2048};
constexpr int64_t kLeastTunedRows = 17;

/** The place of `rows` in kTunedRows; its size where nothing is measured. */
constexpr size_t tunedBucketOf(int64_t rows) {
  size_t bucket = 0;
  while (bucket < std::size(kTunedRows) && rows > kTunedRows[bucket]) ++bucket;
  return rows < kLeastTunedRows ? std::size(kTunedRows) : bucket;
}

/** A product out = x · weightᵀ, to be measured with each of the weights in turn, so that each comes from memory. */
struct LinearTrial {
  std::vector<Matrix> weights;  // of one shape and dtype; one at least
  Matrix x, out;                // what they hold is overwritten
  int64_t nanoseconds = 0;      // at most, but for the measurement under way
};

/** The tile that was measured to be the fastest for a product of [rows, depth] with a weight of [columns, depth]. */
struct TunedLinear {
  int64_t rows = 0, columns = 0, depth = 0;
  LinearTile tile;
  double microseconds = 0;         // a product with it
  double untunedMicroseconds = 0;  // and with the one that was predicted
  int32_t tried = 0;               // tiles that were measured
};

/** `tuned`: in use from now on. Where the time was not enough it is not: nothing has changed. */
struct LinearTuning {
  bool isFinished = true;
  bool hasChoice = false;  // several tiles may be the fastest
  TunedLinear tuned;       // of a choice that was finished
};

}  // namespace octavo
