#include "cuda/attention/split_launch.cuh"

namespace octavo::cuda::split {

void launchInt8(const Arguments& a, const Launch& to) { launchCodeType<DType::kI8, false>(a, to); }

}  // namespace octavo::cuda::split
