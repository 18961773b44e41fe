// Products with weights in tiles, of x of 16 bits. A width of codes has a file of its own: they compile side by side.
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/device/device_traits.h"
#include "ops/expert_rows.h"
#include "ops/quantized_matrix.h"
#include "ops/tensor.h"

namespace octavo::cuda {

using TileProduct = void(const Matrix& out, const Matrix& x, const QuantizedMatrix& weight, const Vector& bias,
                         int multiprocessors, cudaStream_t stream);

/**
 * Up to kFewTileRows rows of x on any card, and any number of rows of up to kMostFewExperts experts, whose N is a
 * multiple of kExpertColumns; without experts their count is 0. Starts before the kernel that makes x has ended, and
 * waits for it.
 */
using FewProduct = void(const Matrix& out, const Matrix& x, const QuantizedMatrix& weight, const Vector& bias,
                        const ExpertRows& experts, const DeviceTraits& traits, cudaStream_t stream);
constexpr int kFewTileRows = 32, kExpertColumns = 16, kMostFewExperts = 512;
FewProduct launchFewCodesU2, launchFewCodesU3, launchFewCodesU4, launchFewCodesU8;

/** The same of columns that are a multiple of kTileColumns, experts' N one of kTileRows (sm_90a). */
FewProduct launchNarrowCodesU3, launchNarrowCodesU4;

/** Any number of rows (sm_90a); the numbers of the weight are rounded to x's dtype. */
TileProduct launchWideCodesU2, launchWideCodesU3, launchWideCodesU4, launchWideCodesU8;

}  // namespace octavo::cuda
