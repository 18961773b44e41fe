// The families of kernels for 8-bit codes, a file each: they take minutes to compile.
#pragma once

#include "cuda/quantized/quantized.h"

namespace octavo::cuda::w8a8 {

/** What one launch multiplies. */
struct Product {
  const Matrix& out;
  const CodedInput& x;
  const QuantizedMatrix& weight;
  const Vector& bias;
  ExpertRows experts = {};  // a grouped product where there are any
};

/** For Hopper: e4m3 codes, scales of rows; of blocks; int8 codes, scales of rows. */
void launchE4m3Rows(const Product& product, const DeviceTraits& traits, cudaStream_t stream);
void launchE4m3Blocks(const Product& product, const DeviceTraits& traits, cudaStream_t stream);
void launchInt8Rows(const Product& product, const DeviceTraits& traits, cudaStream_t stream);

/** Of experts: e4m3 codes, scales of blocks. */
void launchGroupedE4m3Blocks(const Product& product, const DeviceTraits& traits, cudaStream_t stream);

/** int8 codes, scales of rows, from sm_80 on. */
void launchInt8Ampere(const Product& product, const DeviceTraits& traits, cudaStream_t stream);

}  // namespace octavo::cuda::w8a8
