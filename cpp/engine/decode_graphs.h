// Decode steps recorded as graphs: one a batch size, replayed with one call.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/device.h"
#include "kv/kv_cache.h"
#include "model/decoder.h"

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
  int64_t captureNanoseconds = 0;    // all of them together
};

/**
 * A step replays in the smallest bucket that holds it when all of its sequences decode one token and want its logits;
 * every other step is the caller's to run. A graph holds the addresses of the decoder and of the cache: both must
 * outlive it. `replay` is one thread's; `report` may be called by any.
 */
class DecodeGraphs {
 public:
  DecodeGraphs(Device& device, Decoder& decoder, const BatchLimits& limits);

  /**
   * Records every bucket, the largest first, so that the driver's memory is reused by the smaller ones. All kernels
   * must have run before. One that cannot be captured says why in its report, and its steps fall back: for a test, the
   * bucket of `failing` sequences, which waits for the device where it may not.
   */
  void capture(const KvCacheView& cache, Stream& stream, const int32_t* sampled, int32_t failing = 0);
  /** Pads and uploads the batch and enqueues its step; its logits are in the first rows. nullopt: no graph is made for it. */
  std::optional<Matrix> replay(Batch& batch, Stream& stream);
  GraphReport report() const;

 private:
  struct Bucket {
    std::unique_ptr<Graph> graph;
    Matrix logits;
    size_t bytes = 0;
    std::string problem;
    std::atomic<uint64_t> replays{0};
  };
  void captureOne(size_t index, Stream& stream, const std::function<void()>& record);

  Device& device_;
  Decoder& decoder_;
  std::vector<int32_t> sizes_;
  std::vector<Bucket> buckets_;  // of the sizes
  std::atomic<uint64_t> fallbacks_{0};
  int64_t captureNanoseconds_ = 0;
};

}  // namespace octavo
