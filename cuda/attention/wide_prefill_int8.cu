#include "cuda/attention/wide_prefill.cuh"

namespace octavo::cuda::wide {

void launchInt8(const PagedAttention& attention, const DeviceTraits& traits, cudaStream_t stream) {
  launchCodeType<DType::kI8>(attention, traits, stream);
}

}  // namespace octavo::cuda::wide
