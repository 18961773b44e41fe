#include "cuda/attention/split_launch.cuh"

namespace octavo::cuda::split {

void launchFewF16(const Arguments& a, const Launch& to) { launchType<DType::kF16, true>(a, to); }

}  // namespace octavo::cuda::split
