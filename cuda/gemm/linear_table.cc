#include "cuda/gemm/linear_table.h"

#include <algorithm>
#include <string>

#include "base/error.h"

namespace octavo::cuda {

namespace {

constexpr double kSlack = 1.05;  // by which a measured plan may stand worse than where it was measured

uint64_t matrixOf(const LinearShape& shape) {
  return static_cast<uint64_t>(shape.columns) << 32 | static_cast<uint64_t>(shape.depth);
}

uint32_t packed(const LinearTile& tile) {
  return static_cast<uint32_t>(tile.rows) << 16 | static_cast<uint32_t>(tile.columns) << 4 |
         static_cast<uint32_t>(tile.sharing);
}

LinearTile unpacked(uint32_t tile) {
  return {static_cast<int32_t>(tile >> 16), static_cast<int32_t>(tile >> 4 & 0xfff),
          static_cast<TileSharing>(tile & 0xf)};
}

bool isPlan(const LinearShape& shape, const LinearTile& tile, const DeviceTraits& traits) {
  if (tile.sharing == TileSharing::kDepth && !mayDivideDepth(shape.rows)) return false;
  const std::vector<LinearPlan> plans = linearPlans(shape, traits);
  return std::any_of(plans.begin(), plans.end(), [&](const LinearTile& plan) { return plan == tile; });
}

/** Against the best prediction. */
double standing(const LinearShape& shape, const LinearTile& tile, const LinearPlan& best, const DeviceTraits& traits) {
  return clocksOf(shape, tile, traits) / best.clocks;
}

}  // namespace

/** Fibonacci hashing, of the upper bits. */
size_t LinearTable::placeOf(const LinearShape& shape) {
  constexpr uint64_t kMultiplier = 0x9e3779b97f4a7c15u;
  static_assert((kPlaces & (kPlaces - 1)) == 0);
  const uint64_t mixed = (matrixOf(shape) * kMultiplier ^ static_cast<uint64_t>(shape.rows)) * kMultiplier;
  return static_cast<size_t>(mixed >> 40) & (kPlaces - 1);
}

std::optional<LinearPlan> LinearTable::find(const Place& place, const LinearShape& shape) const {
  const uint32_t version = place.version.load(std::memory_order_acquire);
  const bool isOurs = place.rows.load(std::memory_order_relaxed) == static_cast<uint32_t>(shape.rows) &&
                      place.matrix.load(std::memory_order_relaxed) == matrixOf(shape) &&
                      place.generation.load(std::memory_order_relaxed) == generation_.load(std::memory_order_acquire);
  const LinearPlan plan{unpacked(place.tile.load(std::memory_order_relaxed)),
                        place.clocks.load(std::memory_order_relaxed)};
  std::atomic_thread_fence(std::memory_order_acquire);
  const bool isWhole = version % 2 == 0 && place.version.load(std::memory_order_relaxed) == version;
  return isOurs && isWhole ? std::optional(plan) : std::nullopt;
}

/** Where another thread writes there, it is left to that one. */
void LinearTable::remember(Place& place, const LinearShape& shape, const LinearPlan& plan, uint32_t generation) {
  uint32_t version = place.version.load(std::memory_order_relaxed);
  if (version % 2 != 0 || !place.version.compare_exchange_strong(version, version + 1, std::memory_order_acquire)) return;
  std::atomic_thread_fence(std::memory_order_release);
  place.rows.store(static_cast<uint32_t>(shape.rows), std::memory_order_relaxed);
  place.matrix.store(matrixOf(shape), std::memory_order_relaxed);
  place.tile.store(packed(plan), std::memory_order_relaxed);
  place.generation.store(generation, std::memory_order_relaxed);
  place.clocks.store(plan.clocks, std::memory_order_relaxed);
  place.version.store(version + 2, std::memory_order_release);
}

LinearPlan LinearTable::plan(const LinearShape& shape, const DeviceTraits& traits) {
  Place& place = places_[placeOf(shape)];
  if (const std::optional<LinearPlan> found = find(place, shape)) return *found;
  const uint32_t generation = generation_.load(std::memory_order_acquire);  // before what was measured is looked at
  const LinearPlan decided = decide(shape, traits);
  remember(place, shape, decided, generation);
  return decided;
}

LinearPlan LinearTable::decide(const LinearShape& shape, const DeviceTraits& traits) const {
  const LinearPlan best = planLinear(shape, traits);
  const std::lock_guard lock(mutex_);
  const auto found = tuned_.find({tunedBucketOf(shape.rows), shape.columns, shape.depth});
  if (found == tuned_.end()) return best;
  const auto& [rows, tile] = found->second;
  if (!isPlan(shape, tile, traits)) return best;
  const LinearShape measured{rows, shape.columns, shape.depth};
  const double then = standing(measured, tile, planLinear(measured, traits), traits);
  if (standing(shape, tile, best, traits) > kSlack * then) return best;
  return {tile, clocksOf(shape, tile, traits)};
}

bool LinearTable::keep(const LinearShape& shape, const LinearTile& tile, const DeviceTraits& traits) {
  const size_t bucket = tunedBucketOf(shape.rows);
  if (bucket == std::size(kTunedRows) || !isPlan(shape, tile, traits)) return false;
  const std::lock_guard lock(mutex_);
  const TunedKey key{bucket, shape.columns, shape.depth};
  if (tuned_.size() >= kMostTuned && !tuned_.contains(key)) return false;
  tuned_[key] = {shape.rows, tile};
  generation_.fetch_add(1, std::memory_order_release);
  return true;
}

void LinearTable::check(const DeviceTraits& traits) const {
  for (const Place& place : places_) {
    const uint64_t matrix = place.matrix.load(std::memory_order_relaxed);
    const LinearShape shape{place.rows.load(std::memory_order_relaxed), static_cast<int64_t>(matrix >> 32),
                            static_cast<int64_t>(matrix & 0xffffffff)};
    const std::optional<LinearPlan> found = shape.rows == 0 ? std::nullopt : find(place, shape);
    if (!found || *found == decide(shape, traits)) continue;
    throw Error(ErrorCode::kInternal, "a product of " + std::to_string(shape.rows) + " rows with a weight of " +
                                          std::to_string(shape.columns) + " x " + std::to_string(shape.depth) +
                                          " has tiles of " + std::to_string(found->rows) + " x " +
                                          std::to_string(found->columns) + ", which are not the ones chosen for it");
  }
}

LinearPlan planFor(const LinearShape& shape, const DeviceTraits& traits) {
  return traits.plans ? traits.plans->plan(shape, traits) : planLinear(shape, traits);
}

}  // namespace octavo::cuda
