// A step's queries, keys and values on their way into attention, in one pass.
#pragma once

#include "ops/kv_cache_view.h"
#include "ops/tensor.h"

namespace octavo {

struct RopeWrite {
  Heads query, key, value;
  Vector queryNorm, keyNorm;  // [dim], or absent: no norm
  float normEpsilon = 0;
  const int32_t* positions = nullptr;          // [tokens], in device memory
  const float* inverseFrequencies = nullptr;   // [dim / 2], in device memory
  float magnitude = 1;
  const int64_t* slots = nullptr;              // [tokens], in device memory; negative: not stored
  KvScales scales;
};

}  // namespace octavo
