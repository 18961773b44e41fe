// Weights of codes: from the layouts of checkpoints, to numbers, and their product. The contracts are Ops's.
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/device/device_traits.h"
#include "ops/expert_rows.h"
#include "ops/linear_scratch.h"
#include "ops/repack.h"

namespace octavo::cuda {

/** Chooses one of the ways below by the number of rows. Throws kInternal when quantised activations have no scratch. */
void launchQuantizedLinear(const Matrix& out, const Matrix& x, const QuantizedMatrix& weight, const Vector& bias,
                           const LinearScratch& scratch, const DeviceTraits& traits, cudaStream_t stream);

/** launchQuantizedLinear for the rows of experts; see Ops::groupedLinear. */
void launchGroupedLinear(const Matrix& out, const Matrix& x, const QuantizedMatrix& weight, const ExpertRows& experts,
                         const LinearScratch& scratch, const DeviceTraits& traits, cudaStream_t stream);

/** Any shape and dtype, x as it is: a warp an output, for codes and cards that nothing faster covers. */
void launchGroupedGemv(const Matrix& out, const Matrix& x, const QuantizedMatrix& weight, const ExpertRows& experts,
                       cudaStream_t stream);

/** Any shape and dtype; reads the codes once for every four rows of x, and no activations are quantised. */
void launchQuantizedGemv(const Matrix& out, const Matrix& x, const QuantizedMatrix& weight, const Vector& bias,
                         cudaStream_t stream);

/** Rows [firstRow, firstRow + out.rows) of the weight as numbers of out.dtype. */
void launchDequantize(const Matrix& out, const QuantizedMatrix& weight, int64_t firstRow, cudaStream_t stream);

/** out = c · s of every row of x, as codes of `type` and `how` say. */
void launchQuantizeRows(const Matrix& out, const Matrix& x, CodeType type, const ActivationQuantization& how,
                        cudaStream_t stream);

/** Activations as 8-bit codes, rows `stride` bytes apart, and their scales: what the tensor cores multiply. */
struct CodedInput {
  uint8_t* codes = nullptr;  // on a 256-byte boundary, as the scales; zeros behind the last of a row
  float* scales = nullptr;   // [rows], or [⌈columns / 128⌉][scaleStride] where groups of 128 columns have their own
  int64_t rows = 0, columns = 0;
  int64_t stride = 0;        // a multiple of 16
  int32_t scaleStride = 0;   // a multiple of 4; what follows the last row is not read into any result
};

/** x as codes of `type` (int8, e4m3), scaled as `how` says: the codes and scales that launchQuantizeRows multiplies. */
void launchQuantizeCodes(const CodedInput& to, const Matrix& x, CodeType type, const ActivationQuantization& how,
                         const DeviceTraits& traits, cudaStream_t stream);

/**
 * True where the product of codes below applies: the weight is of int8 codes, or of e4m3 codes where sm_90a code is
 * loaded, without zeros, and its scales and those of the activations are a row's, or those of e4m3 blocks of 128 × 128
 * and 128.
 */
bool canMultiplyCodes(const QuantizedMatrix& weight, const DeviceTraits& traits);

/** out = x · weightᵀ + bias on the tensor cores. Starts before the kernel that makes x has ended, and waits for it. */
void launchCodedProduct(const Matrix& out, const CodedInput& x, const QuantizedMatrix& weight, const Vector& bias,
                        const DeviceTraits& traits, cudaStream_t stream);

/** The same for the rows of experts, where canMultiplyGroups is true. */
void launchGroupedProduct(const Matrix& out, const CodedInput& x, const QuantizedMatrix& weight,
                          const ExpertRows& experts, const DeviceTraits& traits, cudaStream_t stream);
bool canMultiplyGroups(const QuantizedMatrix& weight, const DeviceTraits& traits);

void launchRepack(const Repack& repack, cudaStream_t stream);

/** To tiles, in place; false, and nothing is done, where they are not possible. See Ops::arrange. */
bool launchArrange(const QuantizedMatrix& weight, const LinearScratch& scratch, cudaStream_t stream);

/**
 * Sorts the columns of an act-order weight by group, in place: groupIndex becomes what tiles have there, and the scratch
 * begins with the column of every place, int32. False, and nothing is done, where groups do not have groupColumns
 * columns each. Waits for the stream. Scratch: LinearScratchLayout::orderBytes.
 */
bool launchOrderColumns(const QuantizedMatrix& weight, const LinearScratch& scratch, cudaStream_t stream);

/** to[m, placeOf[k]] = from[m, k], of 16 bits and at most kMostPlacedRows rows. */
void launchPlaceColumns(const Matrix& to, const Matrix& from, const int32_t* placeOf, cudaStream_t stream);
constexpr int64_t kMostPlacedRows = 32768;  // grids have 65535 rows at most

}  // namespace octavo::cuda
