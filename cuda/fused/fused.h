// Ops::fusedLinear and Ops::ropeKvWrite in one kernel each: what a decode step of few rows is made of.
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/attention/attention.h"
#include "cuda/device/device_traits.h"
#include "ops/fused_linear.h"
#include "ops/quantized_matrix.h"
#include "ops/rope_write.h"

namespace octavo::cuda {

/**
 * True where launchRowProduct applies: sm_90a code is loaded, x, norm and weight are of 16 bits (x and weight of one
 * dtype) on 16-byte boundaries, K is a multiple of 64, and the rows of x fit in shared memory beside a ring.
 */
bool canMultiplyRows(const FusedLinear& fused, const Matrix& weight, const DeviceTraits& traits);

/** Reads the weight once. May start while the kernel ahead still runs, and lets the next one do so. */
void launchRowProduct(const FusedLinear& fused, const Matrix& weight, const Vector& bias, const DeviceTraits& traits,
                      cudaStream_t stream);

/**
 * The same for codes: e4m3 in rows whose x becomes codes too, scaled by row or in blocks of 128, K a multiple of 128 and at
 * most 16384; or four bits in tiles, K a multiple of 32. Where gate and up follow, halves of whole tiles.
 */
bool canMultiplyRows(const FusedLinear& fused, const QuantizedMatrix& weight, const DeviceTraits& traits);
void launchRowProduct(const FusedLinear& fused, const QuantizedMatrix& weight, const Vector& bias,
                      const DeviceTraits& traits, cudaStream_t stream);

/** True where launchRopeWrite applies: a cache of floats, heads of up to 256. */
bool canRopeWrite(const KvCacheView& cache, const RopeWrite& step);

/** See Ops::ropeKvWrite; keys are left as they were. May start while the kernel ahead still runs. */
void launchRopeWrite(const KvCacheView& cache, int32_t layer, const RopeWrite& step, const DeviceTraits& traits,
                     cudaStream_t stream);

/** Sequences that launchAttendRows takes: of more there are enough blocks for kernels that do one thing each. */
constexpr int32_t kMostAttendedRows = 2;

/**
 * True where launchAttendRows applies: sequences of one token each, a cache of the query's 16-bit dtype, heads of 64 or 128,
 * up to eight query heads a KV head.
 */
bool canAttendRows(const PagedAttention& attention, const RopeWrite& step, const DeviceTraits& traits);

/**
 * launchRopeWrite, then launchPagedAttention of its queries; what step.query holds afterwards is left open. A sequence's
 * slot is the place of its context's last token, or negative. May start while the kernel ahead still runs, and reads then
 * what is older than the step: the cache, tables, lengths and slots must have been complete before (cuda/device/early_launch.h).
 */
void launchAttendRows(const PagedAttention& attention, const RopeWrite& step, cudaStream_t stream);

}  // namespace octavo::cuda
