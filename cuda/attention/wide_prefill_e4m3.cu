#include "cuda/attention/wide_prefill.cuh"

namespace octavo::cuda::wide {

void launchE4m3(const PagedAttention& attention, const DeviceTraits& traits, cudaStream_t stream) {
  launchCodeType<DType::kE4M3>(attention, traits, stream);
}

}  // namespace octavo::cuda::wide
