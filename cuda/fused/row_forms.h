// Row products by the form of the codes; one a translation unit, so that they compile side by side.
#pragma once

#include "cuda/fused/fused.h"

namespace octavo::cuda::rows {

bool canMultiplyE4m3(const FusedLinear& fused, const QuantizedMatrix& weight, const DeviceTraits& traits);
void launchE4m3(const FusedLinear& fused, const QuantizedMatrix& weight, const Vector& bias, const DeviceTraits& traits,
                cudaStream_t stream);

bool canMultiplyTiles(const FusedLinear& fused, const QuantizedMatrix& weight);
void launchTiles(const FusedLinear& fused, const QuantizedMatrix& weight, const Vector& bias, const DeviceTraits& traits,
                 cudaStream_t stream);

}  // namespace octavo::cuda::rows
