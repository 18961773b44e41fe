// Weights of codes: from the layouts of checkpoints, to numbers, and their product. The contracts are Ops's.
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/device/device_traits.h"
#include "ops/linear_scratch.h"
#include "ops/repack.h"

namespace octavo::cuda {

/** Chooses one of the ways below by the number of rows. Throws kInternal when quantised activations have no scratch. */
void launchQuantizedLinear(const Matrix& out, const Matrix& x, const QuantizedMatrix& weight, const Vector& bias,
                           const LinearScratch& scratch, const DeviceTraits& traits, cudaStream_t stream);

/** Any shape and dtype; reads the codes once for every four rows of x, and no activations are quantised. */
void launchQuantizedGemv(const Matrix& out, const Matrix& x, const QuantizedMatrix& weight, const Vector& bias,
                         cudaStream_t stream);

/** Rows [firstRow, firstRow + out.rows) of the weight as numbers of out.dtype. */
void launchDequantize(const Matrix& out, const QuantizedMatrix& weight, int64_t firstRow, cudaStream_t stream);

/** out = c · s of every row of x, as codes of `type` and `how` say. */
void launchQuantizeRows(const Matrix& out, const Matrix& x, CodeType type, const ActivationQuantization& how,
                        cudaStream_t stream);

void launchRepack(const Repack& repack, cudaStream_t stream);

/** To tiles, in place; false, and nothing is done, where they are not possible. See Ops::arrange. */
bool launchArrange(const QuantizedMatrix& weight, const LinearScratch& scratch, cudaStream_t stream);

}  // namespace octavo::cuda
