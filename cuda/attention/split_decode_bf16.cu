#include "cuda/attention/split_launch.cuh"

namespace octavo::cuda::split {

void launchBf16(const Arguments& a, const DeviceTraits& traits, cudaStream_t stream) {
  launchType<DType::kBF16>(a, traits, stream);
}

}  // namespace octavo::cuda::split
