// What an engine will hold, decided before any of it is taken.
#pragma once

#include <string>
#include <vector>

#include "engine/engine.h"
#include "kv/kv_cache.h"
#include "model/batch.h"

namespace octavo {

struct PlanItem {
  Region region;
  std::string name;
  size_t bytes = 0;
};

struct MemoryPlan {
  DType dtype = DType::kF32;     // activations, and the matrices unless keepFileDType
  bool keepFileDType = false;
  BatchLimits batch;
  int64_t historyEntries = 0;    // of the sampler
  size_t stagingBytes = 0;       // pinned, for scored logits
  KvCacheShape kvShape;
  int64_t kvBlocks = 0;
  size_t contextBytes = 0;       // the driver's, before anything of ours
  size_t roomBytes = 0;          // within which the items are
  std::vector<PlanItem> items;   // of device memory; pinned buffers are the host's

  /** What is planned in a region. */
  size_t regionBytes(Region region) const;
};

/**
 * Weights, activations, sampling buffers and KV within `memoryLimit` less the context's bytes, and within
 * what the device has free. Throws kInvalidArgument for options out of range, kUnsupportedModel, and
 * kOutOfMemory listing every item in bytes and by how much they do not fit.
 */
MemoryPlan planMemory(Device& device, const ModelSpec& spec, const WeightManifest& manifest,
                      const EngineOptions& options);

}  // namespace octavo
