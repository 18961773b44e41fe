// Carries out one step on the device: batch, forward pass, sampling, results back on the host.
#pragma once

#include <memory>
#include <vector>

#include "engine/memory_plan.h"
#include "engine/step_plan.h"
#include "engine/step_sampler.h"
#include "engine/session.h"
#include "kv/kv_cache.h"
#include "model/decoder.h"

namespace octavo {

/**
 * `begin`, `add` and `seal` copy all that a step needs (tokens, block tables, sampling) and are called under
 * the engine's lock; `run` touches nothing of the engine's and is called without it, so requests and sessions
 * may vanish meanwhile.
 */
class StepRunner {
 public:
  /** Takes everything a step needs, in regions graph and pinned. Throws kOutOfMemory. */
  StepRunner(DeviceAllocator& allocator, const ModelSpec& spec, const Weights& weights, KvCache& cache,
             const MemoryPlan& plan);

  void begin();
  /** In the order of StepPlan::sequences. */
  void add(const PlannedSequence& planned, const Request& request, const Session& session);
  void seal();

  /** Copies KV blocks, in order, ahead of the next step; does not wait. Throws kDeviceFailed. */
  void moveBlocks(const std::vector<BlockMove>& moves);
  /** Waits until the device has done all it was given. Throws kDeviceFailed. */
  void synchronize() { stream_->synchronize(); }

  /** Blocks until the step is done. Throws kDeviceFailed. */
  void run();
  /** Of the last `run`: row i is the i-th sampled sequence. */
  const StepSampler& sampled() const { return sampler_; }

 private:
  /** Where the logits of a scored sequence go; shared, as its request may be gone when they come. */
  struct Score {
    std::shared_ptr<std::vector<float>> logits;
    int32_t rows = 0;
  };
  void copyScores(const Matrix& logits);
  void flushCopies();

  Device& device_;
  KvCache& cache_;
  BatchLimits limits_;
  int32_t vocabulary_;
  std::unique_ptr<Stream> stream_;
  Decoder decoder_;
  StepSampler sampler_;
  Allocation staging_;  // pinned; scored logits pass through it
  std::vector<BlockCopy> copies_;
  std::vector<BatchSequence> sequences_;
  std::vector<Score> scores_;
  Batch batch_;
};

}  // namespace octavo
