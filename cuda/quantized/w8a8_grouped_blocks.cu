#include "cuda/quantized/w8a8.h"
#include "cuda/quantized/w8a8_launch.cuh"

namespace octavo::cuda::w8a8 {

void launchGroupedE4m3Blocks(const Product& product, const DeviceTraits& traits, cudaStream_t stream) {
  launchGrouped<ptx::E4m3Codes, Scaling::kBlock>(product, traits, stream);
}

}  // namespace octavo::cuda::w8a8
