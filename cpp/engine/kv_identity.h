// What makes the KV of the same tokens different KV.
#pragma once

#include <string>

#include "kv/kv_cache.h"
#include "model/model_spec.h"
#include "model/weights.h"

namespace octavo {

/**
 * Any bytes, equal for equal KV: the model's shape and rotary embedding, the files of its weights and how they are
 * quantised, and how the cache stores it. The root of every chain of hashes stands on it.
 */
std::string kvIdentity(const ModelSpec& spec, const WeightManifest& manifest, const KvCacheShape& shape);

}  // namespace octavo
