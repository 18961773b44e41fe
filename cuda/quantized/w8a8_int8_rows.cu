#include "cuda/quantized/w8a8.h"
#include "cuda/quantized/w8a8_launch.cuh"

namespace octavo::cuda::w8a8 {

void launchInt8Rows(const Product& product, const DeviceTraits& traits, cudaStream_t stream) {
  launchFitting<ptx::Int8Codes, Scaling::kRow>(product, traits, stream);
}

}  // namespace octavo::cuda::w8a8
