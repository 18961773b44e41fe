#include "cuda/attention/split_launch.cuh"

namespace octavo::cuda::split {

void launchF16(const Arguments& a, int architecture, int blocks, cudaStream_t stream) {
  launchType<DType::kF16>(a, architecture, blocks, stream);
}

}  // namespace octavo::cuda::split
