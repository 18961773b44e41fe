// Samples the first logit rows of a step on the device: one upload, one kernel call, one download.
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
  /** `historyEntries`: most distinct tokens all running requests with penalties can have seen together. */
  StepSampler(DeviceAllocator& allocator, const ModelSpec& spec, int32_t maxRows, int64_t historyEntries);
  /** Bytes the constructor takes on the device, and as many pinned ones. */
  static size_t plannedBytes(int32_t maxRows, int64_t historyEntries);

  /** Forgets the last step. */
  void clear();
  /** The next row is this request's. Copies what it needs. */
  void add(const Request& request);
  int32_t rows() const { return static_cast<int32_t>(params_.size()); }

  /** Enqueues; results are valid when `stream` has been synchronised. Overwrites the rows it samples. */
  void run(const Matrix& logits, Stream& stream);

  int32_t token(int32_t row) const;
  float logprob(int32_t row) const;
  /** The `count` best tokens of a row, at most what its request asked for. */
  std::vector<std::pair<int32_t, float>> top(int32_t row, int32_t count) const;

 private:
  /** Where the results of the current step lie behind `resultsAt_`, in bytes. */
  struct Results {
    size_t tokens = 0, logprobs = 0, topTokens = 0, topLogprobs = 0, end = 0;
  };
  SampleArguments upload(const Matrix& logits, Stream& stream);
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
  Results results_;
};

}  // namespace octavo
