#include "cuda/attention/split_launch.cuh"

namespace octavo::cuda::split {

void launchFewInt8(const Arguments& a, const Launch& to) { launchCodeType<DType::kI8, true>(a, to); }

}  // namespace octavo::cuda::split
