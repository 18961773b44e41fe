#include "cuda/attention/prefill.cuh"

namespace octavo::cuda::prefill {

void launchInt8(const Arguments& a, cudaStream_t stream) {
  if (a.query.dtype == DType::kBF16) launchDim<DType::kBF16, DType::kI8>(a, stream);
  else launchDim<DType::kF16, DType::kI8>(a, stream);
}

}  // namespace octavo::cuda::prefill
