// Samples the first logit rows of a step on the device: one upload, one kernel call, one download.
// What the step before has sampled, and nobody has booked, is read where it lies: on the device.
#pragma once

#include <utility>
#include <vector>

#include "engine/request.h"
#include "memory/allocator.h"
#include "model/model_spec.h"
#include "ops/tensor.h"

namespace octavo {

class StepSampler {
 public:
  /**
   * `historyEntries`: most distinct tokens all running requests with penalties can have seen together, if none share
   * any.
   * `stepsAtOnce`: how many steps may be under way.
   */
  StepSampler(DeviceAllocator& allocator, const ModelSpec& spec, int32_t maxRows, int64_t historyEntries,
              int32_t stepsAtOnce);
  /** Bytes the constructor takes on the device, and as many pinned ones for each step under way. */
  static size_t plannedBytes(int32_t maxRows, int64_t historyEntries);
  /**
   * Room of a step for history and biases together. It may be less than sequences have seen that share a prompt: what
   * bounds their blocks does not bound that.
   */
  static int64_t entries(int32_t maxRows, int64_t historyEntries);

  /** Begins the next step. */
  void clear();
  /** The next row is this request's. Copies what it needs. */
  void add(const Request& request);
  int32_t rows() const { return static_cast<int32_t>(params_.size()); }

  /**
   * Enqueues the step, the `turn`-th of those under way. Overwrites the rows it samples. What was sampled in the same
   * turn before must have been read.
   */
  void run(const Matrix& logits, size_t turn, Stream& stream);
  /** The tokens of the last `run` on the device; the next one overwrites them. */
  const int32_t* deviceTokens() const;
  /** Results from now on are those of this turn, whose step the device has done. */
  void read(size_t turn) { reading_ = turn; }

  int32_t token(int32_t row) const;
  float logprob(int32_t row) const;
  /** The `count` best tokens of a row, at most what its request asked for. */
  std::vector<std::pair<int32_t, float>> top(int32_t row, int32_t count) const;

 private:
  /** Where the results of a step lie behind `resultsAt_`, in bytes. */
  struct Results {
    size_t tokens = 0, logprobs = 0, topTokens = 0, topLogprobs = 0, end = 0;
    int32_t topCount = 0;
  };
  std::byte* pinned(size_t turn) const;
  void addHistory(const Request& request);
  SampleArguments upload(const Matrix& logits, std::byte* pinned, Stream& stream);
  template <typename T>
  const T* result(size_t offset) const;

  Device& device_;
  int32_t vocabulary_, sampled_;
  size_t resultsAt_, bytes_;
  Allocation memory_, pinned_;
  std::vector<SamplingParams> params_;
  std::vector<TokenCount> history_;
  std::vector<LogitBias> biases_;
  int32_t topCount_ = 0;
  bool resolves_ = false;  // some history ends with a token that only the device knows
  std::vector<Results> results_;  // by turn
  size_t reading_ = 0;
};

}  // namespace octavo
