// The tiles of dense products, measured while a model is loaded.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "device/device.h"
#include "ops/linear_trial.h"

namespace octavo {

struct TuningOptions {
  int64_t nanoseconds = 0;         // that it may take; 0: nothing is measured
  std::string card;                // of what is known, as the driver names it
  int32_t multiprocessors = 0;     // and how many it has
  std::vector<TunedLinear> known;  // measured by an earlier run: used, and not measured again
};

struct TunedProduct : TunedLinear {
  bool wasKnown = false;
};

/** What came of it. */
struct TuningReport {
  bool enabled = false;
  std::string card;                // as the driver names it
  int32_t multiprocessors = 0;
  int64_t nanoseconds = 0;         // that it took
  std::vector<TunedProduct> products;
  int32_t unfinished = 0;          // trials for which the time was not enough
};

/**
 * Uses what is known of this card, and measures the others of the trials, in their order, until the time is over.
 * Throws kCancelled, kDeviceFailed.
 */
TuningReport tuneProducts(Device& device, const std::vector<LinearTrial>& trials, const TuningOptions& options,
                          const std::atomic<bool>& cancelled, Stream& stream);

}  // namespace octavo
