#include "cuda/attention/decode_launch.cuh"

namespace octavo::cuda::decode {

void launchCodes(const Arguments& a, int64_t items, bool clustered, cudaStream_t stream) {
  launchElement<Code>(a, items, clustered, stream);
}

}  // namespace octavo::cuda::decode
