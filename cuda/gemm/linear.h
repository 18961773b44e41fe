// out = x · weightᵀ + bias: matrix-vector, tensor-core and scalar kernels. The contract is Ops::linear's.
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/device/device_traits.h"
#include "cuda/gemm/linear_plan.h"
#include "ops/tensor.h"

namespace octavo::cuda {

/** Chooses one of the kernels below by shape and dtype. */
void launchLinear(const Matrix& out, const Matrix& x, const Matrix& weight, const Vector& bias,
                  const DeviceTraits& traits, cudaStream_t stream);

/** Any dtypes, any alignment; reads the weight once for every four rows of x. */
void launchGemv(const Matrix& out, const Matrix& x, const Matrix& weight, const Vector& bias, cudaStream_t stream);

/** True where the tensor-core kernel applies: x and weight of one 16-bit dtype, rows on 16-byte boundaries. */
bool canMultiplyOnTensorCores(const Matrix& x, const Matrix& weight);
/** Tiles of 16 rows for up to 16, else of 64; `tileColumns` of these: 32 or 128. */
void launchTensorGemm(const Matrix& out, const Matrix& x, const Matrix& weight, const Vector& bias, int tileColumns,
                      cudaStream_t stream);

/** The same with tiles of 128 × 256, of matrices no smaller than that. */
void launchLargeGemm(const Matrix& out, const Matrix& x, const Matrix& weight, const Vector& bias,
                     cudaStream_t stream);

/** True where Hopper's kernels apply besides: sm_90a code is loaded and the sizes fit their descriptors. */
bool canMultiplyWide(const Matrix& x, const Matrix& weight, const DeviceTraits& traits);
/** For many rows: tiles of 128 rows, plan.columns columns. */
void launchWideGemm(const Matrix& out, const Matrix& x, const Matrix& weight, const Vector& bias,
                    const LinearPlan& plan, const DeviceTraits& traits, cudaStream_t stream);
/** For few rows, under the same conditions: tiles of 64 rows. */
void launchFittedGemm(const Matrix& out, const Matrix& x, const Matrix& weight, const Vector& bias,
                      const LinearPlan& plan, const DeviceTraits& traits, cudaStream_t stream);
/**
 * True where a plan can be made: tensor-core kernels apply, there are more rows than the smallest tile has, and sizes are
 * below 2³¹.
 */
bool canPlan(const Matrix& x, const Matrix& weight);
/** With a plan of the shape: one of the four above. */
void launchPlanned(const Matrix& out, const Matrix& x, const Matrix& weight, const Vector& bias,
                   const LinearPlan& plan, const DeviceTraits& traits, cudaStream_t stream);

/** Any dtypes, any alignment; fp32 arithmetic on the CUDA cores. */
void launchScalarGemm(const Matrix& out, const Matrix& x, const Matrix& weight, const Vector& bias,
                      cudaStream_t stream);

}  // namespace octavo::cuda
