#include "cuda/attention/split_launch.cuh"

namespace octavo::cuda::split {

void launchFewBf16(const Arguments& a, const Launch& to) { launchType<DType::kBF16, true>(a, to); }

}  // namespace octavo::cuda::split
