// Products with weights in tiles, of x of 16 bits. A width of codes has a file of its own: they compile side by side.
#pragma once

#include <cuda_runtime_api.h>

#include "ops/quantized_matrix.h"
#include "ops/tensor.h"

namespace octavo::cuda {

using TileProduct = void(const Matrix& out, const Matrix& x, const QuantizedMatrix& weight, const Vector& bias,
                         int multiprocessors, cudaStream_t stream);

/** Up to kSkinnyTileRows rows of x: bound by reading the codes. */
constexpr int kSkinnyTileRows = 16;
TileProduct launchSkinnyCodesU2, launchSkinnyCodesU3, launchSkinnyCodesU4, launchSkinnyCodesU8;

/** The same for columns of x that are a multiple of 8, and faster (sm_90a). */
TileProduct launchBulkCodesU2, launchBulkCodesU3, launchBulkCodesU4, launchBulkCodesU8;

/** Any number of rows (sm_90a); the numbers of the weight are rounded to x's dtype. */
TileProduct launchWideCodesU2, launchWideCodesU3, launchWideCodesU4, launchWideCodesU8;

}  // namespace octavo::cuda
