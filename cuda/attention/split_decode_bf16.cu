#include "cuda/attention/split_launch.cuh"

namespace octavo::cuda::split {

void launchBf16(const Arguments& a, const Launch& to) { launchType<DType::kBF16, false>(a, to); }

}  // namespace octavo::cuda::split
