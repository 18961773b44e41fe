#include "cuda/attention/split_launch.cuh"

namespace octavo::cuda::split {

void launchF16(const Arguments& a, const DeviceTraits& traits, cudaStream_t stream) {
  launchType<DType::kF16>(a, traits, stream);
}

}  // namespace octavo::cuda::split
