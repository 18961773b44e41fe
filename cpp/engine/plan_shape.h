// What the options make of a model before any byte is counted: number formats, batch limits, the KV block.
#pragma once

#include "engine/engine.h"
#include "kv/kv_cache.h"
#include "model/batch.h"

namespace octavo {

struct PlanShape {
  DType dtype = DType::kF32;     // activations, and the matrices unless keepFileDType
  bool keepFileDType = false;
  bool mapFiles = false;         // parameters stay in their files where they can: the CPU, when copies do not fit
  BatchLimits batch;
  size_t stagingBytes = 0;       // pinned, for scored logits
  KvCacheShape kvShape;

  /**
   * `onHost`: for the CPU device, whose defaults differ. Throws kInvalidArgument for options out of range and
   * kUnsupportedModel for layers whose KV differs.
   */
  static PlanShape of(bool onHost, const ModelSpec& spec, const WeightManifest& manifest,
                      const EngineOptions& options);
};

}  // namespace octavo
