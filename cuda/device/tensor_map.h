// Descriptions of matrices for the tensor memory accelerator.
#pragma once

#include <cuda.h>

#include "ops/tensor.h"

namespace octavo::cuda {

/**
 * `matrix` (16-bit, rows and base on 16-byte boundaries) in boxes of boxRows × 64 columns, which lie in shared memory
 * as 128-byte rows whose 16-byte chunks are XOR-swizzled by the row. Outside of the matrix zeros are read and nothing
 * is written. Throws kDeviceFailed when the driver refuses it.
 */
CUtensorMap tensorMapOf(const Matrix& matrix, int boxRows);

}  // namespace octavo::cuda
