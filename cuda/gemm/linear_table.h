// The plans of dense products: what was measured, and what was predicted, found again without being reckoned anew.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <tuple>

#include "cuda/gemm/linear_plan.h"

namespace octavo::cuda {

/**
 * Thread-safe. A plan that was asked for before is found by a few loads, without a lock or an allocation; the memory of
 * these is fixed, and of two shapes with one place the later has it. At most kMostTuned shapes are kept that were measured.
 */
class LinearTable {
 public:
  static constexpr size_t kMostTuned = 4096;

  /** For shapes of more than 16 rows, no size above 2³¹ − 1. `traits` are the same in all calls. */
  LinearPlan plan(const LinearShape& shape, const DeviceTraits& traits);

  /**
   * The tile was measured to be the fastest for shape.rows, and is used for all rows of the bucket for which it is not
   * predicted to stand worse beside the best. False: it is none of the shape's plans, divides K where that may not be, no
   * bucket has so many rows, or the table is full; nothing has changed then.
   */
  bool keep(const LinearShape& shape, const LinearTile& tile, const DeviceTraits& traits);

  /** Throws kInternal where a plan in use is none of its shape's, or is not the one that was measured for its rows. */
  void check(const DeviceTraits& traits) const;

 private:
  static constexpr size_t kPlaces = 1024;

  /** A plan and whose it is, written by one thread at a time: an odd version is being written. */
  struct Place {
    std::atomic<uint32_t> version{0}, rows{0};
    std::atomic<uint64_t> matrix{0};  // columns and depth
    std::atomic<uint32_t> tile{0}, generation{0};
    std::atomic<double> clocks{0};
  };
  struct Tuned {
    int64_t rows;  // measured
    LinearTile tile;
  };
  using TunedKey = std::tuple<size_t, int64_t, int64_t>;  // bucket, columns, depth

  static size_t placeOf(const LinearShape& shape);
  std::optional<LinearPlan> find(const Place& place, const LinearShape& shape) const;
  void remember(Place& place, const LinearShape& shape, const LinearPlan& plan, uint32_t generation);
  LinearPlan decide(const LinearShape& shape, const DeviceTraits& traits) const;

  std::array<Place, kPlaces> places_;
  std::atomic<uint32_t> generation_{1};  // of what was measured: plans of an earlier one are not used any more
  mutable std::mutex mutex_;             // of what follows
  std::map<TunedKey, Tuned> tuned_;
};

/** As the device's table has it, or without one predicted. */
LinearPlan planFor(const LinearShape& shape, const DeviceTraits& traits);

}  // namespace octavo::cuda
