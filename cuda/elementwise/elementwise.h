// Memory-bound kernels: one read and one write of every element. Contracts are those of ops/ops.h.
#pragma once

#include <cuda_runtime_api.h>

#include "ops/image_turns.h"
#include "ops/random_fill.h"

namespace octavo::cuda {

void launchConvert(void* out, DType outType, const void* from, DType fromType, int64_t count, cudaStream_t stream);

void launchRandomFill(const RandomFill& fill, cudaStream_t stream);

/** out[r] = from[rows[r]]; a row index outside `from` gives zeros. Serves embedding and gatherRows. */
void launchGather(const Matrix& out, const Matrix& from, const int32_t* rows, cudaStream_t stream);

/** See Ops::widenRows. */
void launchWidenRows(int32_t* out, int32_t outStride, const int32_t* from, const int32_t* stride, int32_t rows,
                     cudaStream_t stream);

/** See Ops::fetchImage and Ops::storeImage; the images are page-locked memory of the host. */
void launchFetchImage(void* to, const ImageTurns& from, cudaStream_t stream);
void launchStoreImage(const ImageTurns& to, const void* from, size_t bytes, cudaStream_t stream);

void launchAdd(const Matrix& y, const Matrix& x, cudaStream_t stream);
void launchSwiglu(const Matrix& out, const Matrix& gateUp, cudaStream_t stream);

/** With residual.data == nullptr a plain norm of x; otherwise residual += x first. */
void launchRmsNorm(const Matrix& out, const Matrix& residual, const Matrix& x, const Vector& weight, float epsilon,
                   cudaStream_t stream);
void launchHeadNorm(const Heads& heads, const Vector& weight, float epsilon, cudaStream_t stream);
void launchRope(const Heads& query, const Heads& key, const int32_t* positions, const float* inverseFrequencies,
                float magnitude, cudaStream_t stream);

}  // namespace octavo::cuda
