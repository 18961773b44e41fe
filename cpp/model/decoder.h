// The one decoder: composes ops into a forward pass for any ModelSpec.
#pragma once

#include <memory>

#include "kv/kv_cache.h"
#include "memory/allocator.h"
#include "model/batch.h"
#include "model/batch_input.h"
#include "model/model_spec.h"
#include "model/weights.h"
#include "ops/ops.h"

namespace octavo {

class Decoder {
 public:
  /**
   * Takes activations for `limits` in region graph, the rope constants in region weights and one pinned
   * upload buffer; nothing is allocated afterwards. `dtype` is the activations'. `spec` must be valid,
   * `weights` must outlive the decoder. Throws kOutOfMemory, kInvalidArgument.
   */
  Decoder(DeviceAllocator& allocator, const ModelSpec& spec, const Weights& weights, DType dtype,
          const BatchLimits& limits);
  ~Decoder();

  /** Device bytes the constructor takes, for the plan: regions weights (constantBytes) and graph (the rest). */
  static size_t plannedBytes(const ModelSpec& spec, DType dtype, const BatchLimits& limits);
  static size_t constantBytes(const ModelSpec& spec);
  /** What the constructor takes besides, in region graph, for attention; none where memory is the host's. */
  static size_t scratchBytes(const ModelSpec& spec, DType dtype, const BatchLimits& limits, bool onHost);
  /** And for products with weights of codes. */
  static size_t linearScratchBytes(const std::vector<CodedShape>& weights, DType dtype, const BatchLimits& limits,
                                   bool onHost);

  /**
   * Uploads the batch and runs it on `stream`. Returns fp32 logits [batch.logitRows, vocabulary] in device
   * memory, valid until the next call. Does not synchronise; at most `limits.stepsAtOnce` calls may be under way on the
   * device, so the caller waits for one before it goes on. Tokens that are sampledAt(row) are read from `sampled`, in
   * device memory, in the order of the stream. Throws kInternal when the batch passes the limits or the cache is of
   * another shape than the spec.
   */
  Matrix forward(const Batch& batch, const KvCacheView& cache, Stream& stream, const int32_t* sampled = nullptr);

  /**
   * The same in two parts, for decodes alone in a batch that was padded to `sequences` (Batch::padTo): `pack` writes it
   * to host memory, and `decode` computes what was brought from there to `image` on the device. What `decode` enqueues
   * depends on `sequences` and addresses alone, so that it can be recorded once and replayed. Of a decoder whose limits
   * have `graphs`.
   */
  size_t packedBytes(const Batch& batch) const { return BatchInput::packedBytes(batch); }
  void pack(const Batch& batch, void* image) const;
  Matrix decode(const void* image, int32_t sequences, const KvCacheView& cache, Stream& stream, const int32_t* sampled);

  /** Its dense products, to be measured in the memory of its activations while no step runs; see linearTrials. */
  std::vector<LinearTrial> linearTrials() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace octavo
