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
  /** Of parameters, history and biases together, at most, and of results. */
  static size_t uploadBytes(int32_t maxRows, int64_t historyEntries);
  static size_t resultBytes(int32_t rows);

  /** Begins the next step. */
  void clear();
  /** The next row is this request's. Copies what it needs. */
  void add(const Request& request);
  int32_t rows() const { return static_cast<int32_t>(params_.size()); }
  /** What has been added. */
  const std::vector<SamplingParams>& params() const { return params_; }
  const std::vector<TokenCount>& history() const { return history_; }
  const std::vector<LogitBias>& biases() const { return biases_; }
  int32_t topWanted() const { return topCount_; }

  /** Where results of a step lie on the host, in bytes from `at`. */
  struct Results {
    const std::byte* at = nullptr;
    size_t logprobs = 0, topTokens = 0, topLogprobs = 0, end = 0;
    int32_t topCount = 0;

    static Results of(const std::byte* at, int32_t rows, int32_t topCount);
  };

  /**
   * Enqueues the step, the `turn`-th of those under way. Overwrites the rows it samples. What was sampled in the same
   * turn before must have been read. The results are there when it is done.
   */
  Results run(const Matrix& logits, size_t turn, Stream& stream);
  /**
   * Enqueues the same for arguments that lie on the device already (params, history, biases, rows), whatever was added,
   * with room for all top tokens: to be recorded. `resolves`: histories may end with what the step before has sampled.
   */
  void record(SampleArguments arguments, const Matrix& logits, bool resolves, Stream& stream) const;
  /** The tokens of the last `run` on the device; the next one overwrites them. */
  const int32_t* deviceTokens() const;
  /** What is asked from now on is answered from these results, whose step the device has done. */
  void read(const Results& results) { reading_ = results; }

  int32_t token(int32_t row) const { return result<int32_t>(0)[row]; }
  float logprob(int32_t row) const { return result<float>(reading_.logprobs)[row]; }
  /** The `count` best tokens of a row, at most what its request asked for. */
  std::vector<std::pair<int32_t, float>> top(int32_t row, int32_t count) const;

 private:
  std::byte* pinned(size_t turn) const;
  void addHistory(const Request& request);
  SampleArguments upload(const Matrix& logits, std::byte* pinned, Stream& stream);
  void setResults(SampleArguments& arguments, const Results& results) const;
  template <typename T>
  const T* result(size_t offset) const {
    return reinterpret_cast<const T*>(reading_.at + offset);
  }

  Device& device_;
  int32_t vocabulary_, sampled_;
  size_t resultsAt_, bytes_;
  Allocation memory_, pinned_;
  std::vector<SamplingParams> params_;
  std::vector<TokenCount> history_;
  std::vector<LogitBias> biases_;
  int32_t topCount_ = 0;
  bool resolves_ = false;  // some history ends with a token that only the device knows
  Results reading_;
};

}  // namespace octavo
