// Carries out one step on the device: batch, forward pass, sampling, results back on the host.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/decode_graphs.h"
#include "engine/memory_plan.h"
#include "engine/step_plan.h"
#include "engine/step_sampler.h"
#include "engine/tuning.h"
#include "engine/session.h"
#include "kv/kv_cache.h"
#include "model/decoder.h"

namespace octavo {

/**
 * `begin`, `add` and `seal` copy all that a step needs (tokens, block tables, sampling) and are called under
 * the engine's lock; `launch` and `wait` touch nothing of the engine's and are called without it, so requests and
 * sessions may vanish meanwhile.
 *
 * Up to `stepsAtOnce` steps are launched and not waited for. All run on one stream, one after the other: whatever one
 * writes (KV, samples, activations) the next one finds. What the host writes or reads has a place of its own for each.
 */
class StepRunner {
 public:
  /** Takes everything a step needs, in regions graph and pinned. Throws kOutOfMemory. */
  StepRunner(DeviceAllocator& allocator, const ModelSpec& spec, const Weights& weights, KvCache& cache,
             const MemoryPlan& plan);

  void begin();
  /**
   * In the order of StepPlan::sequences. A token that is still being sampled is taken from where the step launched
   * last puts it, on the device.
   */
  void add(const PlannedSequence& planned, const Request& request, const Session& session);
  void seal();

  /** Copies KV blocks, in order, ahead of the next step; does not wait. Throws kDeviceFailed. */
  void moveBlocks(const std::vector<BlockMove>& moves);
  /** Waits until the device has done all it was given. Throws kDeviceFailed. */
  void synchronize() { stream_->synchronize(); }

  /** Before any step is launched; see tuneProducts. */
  TuningReport tune(const TuningOptions& options, const std::atomic<bool>& cancelled);
  /** Records the decodes of every batch size, of a plan with graphs; see DecodeGraphs::capture. */
  void captureGraphs(int32_t failing);
  /** Of a plan without graphs: not enabled. May be called by any thread. */
  GraphReport graphs() const { return graphs_ ? graphs_->report() : GraphReport(); }

  /** True where `launch` returns only when the step is done: on the CPU with one step at a time. */
  bool computesInLaunch() const { return done_.empty() && device_.sharesHostMemory(); }
  /** Enqueues the sealed step. Throws kDeviceFailed. */
  void launch();
  /** Blocks until the first step that was launched and not waited for is done. Throws kDeviceFailed. */
  void wait();
  /** Of the step last waited for: row i is the i-th sampled sequence. */
  const StepSampler& sampled() const { return sampler_; }

 private:
  /** Where the logits of a scored sequence go; shared, as its request may be gone when they come. */
  struct Score {
    std::shared_ptr<std::vector<float>> logits;
    int32_t start = 0, rows = 0;  // positions
  };
  /** A step on the device. */
  struct Launched {
    Matrix logits;
    int32_t sampledRows = 0;
    std::vector<Score> scores;
    size_t turn = 0;
    StepSampler::Results results;
  };
  std::span<const int32_t> tokensOf(const PlannedSequence& planned, const Request& request);
  Launched enqueue(size_t turn);
  void copyScores(Launched& step);
  void flushCopies();

  Device& device_;
  KvCache& cache_;
  BatchLimits limits_;
  int32_t vocabulary_;
  std::unique_ptr<Stream> stream_;
  Decoder decoder_;
  std::optional<DecodeGraphs> graphs_;
  StepSampler sampler_;
  Allocation staging_;  // pinned; scored logits pass through it
  std::vector<BlockCopy> copies_;
  std::vector<BatchSequence> sequences_;
  std::vector<int32_t> tokens_;  // which they point into: as many as a step may have, taken once
  std::vector<Score> scores_;
  Batch batch_;
  std::deque<Launched> launched_;
  size_t nextTurn_ = 0;
  std::vector<std::unique_ptr<Event>> done_;  // by turn; where one step runs at a time the stream says it
};

}  // namespace octavo
