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
#include "engine/graph_input.h"
#include "engine/graph_report.h"
#include "kv/kv_cache.h"

namespace octavo {

/**
 * A step replays in the smallest bucket that holds it when all of its sequences decode one token and sample the next;
 * every other step is the caller's to run. A replay fetches its input, samples and stores its results: one launch. A
 * graph holds the addresses of the decoder, the sampler and the cache: all must outlive it. `replay` is one thread's;
 * `report` may be called by any.
 */
class DecodeGraphs {
 public:
  /** Throws kOutOfMemory; see GraphInput. */
  DecodeGraphs(DeviceAllocator& allocator, Decoder& decoder, StepSampler& sampler, const BatchLimits& limits,
               int64_t historyEntries);

  /**
   * Records every bucket, the largest first, so that the driver's memory is reused by the smaller ones. All kernels
   * must have run before. One that cannot be captured says why in its report, and its steps fall back: for a test, the
   * bucket of `failing` sequences, which waits for the device where it may not.
   */
  void capture(const KvCacheView& cache, Stream& stream, int32_t failing = 0);
  /** Pads the batch, enqueues its step and says where the results will be. nullopt: no graph is made for it. */
  std::optional<StepSampler::Results> replay(Batch& batch, Stream& stream);
  GraphReport report() const;

 private:
  struct Bucket {
    std::unique_ptr<Graph> graph;
    size_t bytes = 0;
    std::string problem;
    std::atomic<uint64_t> replays{0};
  };
  void captureOne(size_t index, Stream& stream, const std::function<void()>& record);
  void record(int32_t sequences, const KvCacheView& cache, Stream& stream);

  Device& device_;
  Decoder& decoder_;
  StepSampler& sampler_;
  GraphInput input_;
  bool overlaps_;                // tokens may be those that the step before samples
  std::vector<int32_t> sizes_;
  std::vector<Bucket> buckets_;  // of the sizes
  std::atomic<uint64_t> fallbacks_{0}, launches_{0};
  int64_t captureNanoseconds_ = 0;
};

}  // namespace octavo
