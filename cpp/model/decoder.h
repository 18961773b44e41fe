// The one decoder: composes ops into a forward pass for any ModelSpec.
#pragma once

#include <memory>

#include "kv/kv_cache.h"
#include "memory/allocator.h"
#include "model/batch.h"
#include "model/model_spec.h"
#include "model/weights.h"
#include "ops/ops.h"

namespace octavo {

class Decoder {
 public:
  /**
   * Takes activations for `limits` in region graph and one pinned upload buffer; nothing is allocated
   * afterwards. `dtype` is the activations'. Throws kOutOfMemory.
   */
  Decoder(DeviceAllocator& allocator, const ModelSpec& spec, const Weights& weights, DType dtype,
          const BatchLimits& limits);
  ~Decoder();

  /** Device bytes the constructor takes, for the plan. */
  static size_t plannedBytes(const ModelSpec& spec, DType dtype, const BatchLimits& limits);

  /**
   * Uploads the batch and runs it on `stream`. Returns fp32 logits [batch.logitRows, vocabulary] in device
   * memory, valid until the next call. Does not synchronise; the upload buffer is reused by the next
   * call, so the caller synchronises between calls.
   */
  Matrix forward(const Batch& batch, const KvCacheView& cache, Stream& stream);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace octavo
