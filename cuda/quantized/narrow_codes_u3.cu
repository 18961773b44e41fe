#include "cuda/quantized/narrow_codes.cuh"
#include "cuda/quantized/tile_products.h"

namespace octavo::cuda {

void launchNarrowCodesU3(const Matrix& out, const Matrix& x, const QuantizedMatrix& weight, const Vector& bias,
                         const ExpertRows& experts, const DeviceTraits& traits, cudaStream_t stream) {
  launchNarrowCodesOf<3>(out, x, weight, bias, experts, traits, stream);
}

}  // namespace octavo::cuda
