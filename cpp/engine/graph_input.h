// What a recorded decode step needs of the host and gives back, in images that it fetches and fills itself: so that the
// host starts a step with one launch.
#pragma once

#include "engine/step_sampler.h"
#include "model/decoder.h"
#include "ops/image_turns.h"

namespace octavo {

/**
 * An image is {bytes, wanted top tokens, sampling parameters of all rows, the packed batch, history, biases}: what has a
 * place of its own in a batch of that size comes first, and what is as long as it happens to be comes last. As many
 * images as steps may be under way.
 */
class GraphInput {
 public:
  /** Regions graph and pinned. Throws kOutOfMemory. */
  GraphInput(DeviceAllocator& allocator, const BatchLimits& limits, int64_t historyEntries);
  static size_t plannedBytes(const BatchLimits& limits, int64_t historyEntries);
  static size_t pinnedBytes(const BatchLimits& limits, int64_t historyEntries);

  /** Recorded first: brings the image to the device. */
  void fetch(Ops& ops, Stream& stream) const;
  /** Recorded last: brings results of `bytes` bytes to the host. */
  void store(Ops& ops, const void* results, size_t bytes, Stream& stream) const;
  /** Where the packed batch of so many sequences lies. */
  const void* batch(int32_t sequences) const;
  /** Parameters, history and biases of so many rows; results and logits are the caller's to add. */
  SampleArguments arguments(int32_t sequences) const;

  /**
   * Fills the next image with a batch that was padded to `sequences`. What was filled as many images ago must have been
   * stored. Throws kInternal.
   */
  void fill(const Decoder& decoder, const Batch& batch, int32_t sequences, const StepSampler& sampler);
  /** The step of the image filled last was launched: the next one is filled next. A launch that failed took no turn. */
  void passTurn() { ++passed_; }
  /** Of the step launched last, once it is done. */
  const std::byte* results() const;

 private:
  std::byte* image(size_t turn) const;
  std::byte* resultsOf(size_t turn) const;

  size_t imageBytes_, resultBytes_, turns_;
  Allocation memory_;  // an image, then the turn
  Allocation images_;  // images, then results
  size_t passed_ = 0;  // turns
};

}  // namespace octavo
