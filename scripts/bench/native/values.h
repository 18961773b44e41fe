// Random operands.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "ops/kv_cache_view.h"
#include "ops/quantized_matrix.h"

namespace octavo::bench {

/** bf16, uniform in ±√3: mean 0, variance 1. The same for the same seed. */
void fillUniform(uint16_t* values, size_t count, uint32_t seed, cudaStream_t stream);

/** The same, of bf16 or as the codes and scales of e4m3 or int8. */
void fillCache(const KvCacheView& cache, uint32_t seed, cudaStream_t stream);

/** Codes of a weight, none of them NaN, four at a time, and scales between 1/128 and 1/64. */
void fillWeightCodes(uint8_t* codes, size_t count, CodeType type, uint32_t seed, cudaStream_t stream);
void fillScales(void* scales, size_t count, DType type, uint32_t seed, cudaStream_t stream);

}  // namespace octavo::bench
