#include "cuda/attention/decode_launch.cuh"

namespace octavo::cuda::decode {

void launchF32(const Arguments& a, int64_t items, bool clustered, cudaStream_t stream) {
  launchElement<float>(a, items, clustered, stream);
}

}  // namespace octavo::cuda::decode
