#include "cuda/attention/split_launch.cuh"

namespace octavo::cuda::split {

void launchF16(const Arguments& a, const Launch& to) { launchType<DType::kF16, false>(a, to); }

}  // namespace octavo::cuda::split
