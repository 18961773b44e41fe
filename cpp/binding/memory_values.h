// Statistics of allocators as JavaScript objects, under PyTorch's names.
#pragma once

#include <napi.h>

#include "memory/fragmentation.h"

namespace octavo {

/** `{ allocation: { all: { current, peak, allocated, freed }, small_pool, large_pool }, …, num_ooms, … }` */
Napi::Object toValue(Napi::Env env, const MemoryStatistics& statistics);
Napi::Object toValue(Napi::Env env, const Fragmentation& fragmentation);

}  // namespace octavo
