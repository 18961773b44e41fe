// Keys and values of a cache, whatever it keeps them as, from and to rows of floats.
#pragma once

#include "ops/cpu/access.h"

namespace octavo::cpu {

/** Of one token and KV head; `side`: 0 the key, 1 the value. */
struct CachePlace {
  int64_t block;
  int32_t layer, side;
  int64_t head, token;
};

/** As fp32; `tensorScale` is that of a cache that scales per tensor. */
void loadCached(float* to, const KvCacheView& cache, const CachePlace& place, float tensorScale);

/** Ops::kvWrite of one row. */
void storeCached(const KvCacheView& cache, const CachePlace& place, const void* from, DType type,
                 const KvScales& scales);

}  // namespace octavo::cpu
