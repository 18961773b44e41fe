#include "cuda/attention/split_launch.cuh"

namespace octavo::cuda::split {

void launchF16(const Arguments& a, const KvCacheView& cache, int architecture, int blocks, cudaStream_t stream) {
  launchType<DType::kF16>(a, cache, architecture, blocks, stream);
}

}  // namespace octavo::cuda::split
