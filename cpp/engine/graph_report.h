// What became of the decode steps that were to be recorded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace octavo {

/** One batch size. */
struct GraphBucket {
  int32_t sequences = 0;
  size_t nodes = 0;        // operations of the device; 0: not captured
  size_t bytes = 0;        // that the driver took for it, as it counts them; 0 on the CPU
  uint64_t replays = 0;
  std::string problem;     // why it could not be captured
};

struct GraphReport {
  bool enabled = false;
  std::vector<GraphBucket> buckets;  // ascending
  uint64_t fallbacks = 0;            // steps of decodes alone that ran without a graph
  uint64_t launches = 0;             // of the host for the steps that were replayed: kernels, copies and graphs
  int64_t captureNanoseconds = 0;    // all of them together
};

}  // namespace octavo
