// Statistics of allocators as JavaScript objects, under PyTorch's names.
#pragma once

#include <napi.h>

#include "memory/memory_statistics.h"

namespace octavo {

/** `{ allocation: { all: { current, peak, allocated, freed }, small_pool, large_pool }, …, num_ooms, … }` */
Napi::Object toValue(Napi::Env env, const MemoryStatistics& statistics);

}  // namespace octavo
