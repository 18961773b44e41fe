#include "cuda/attention/split_launch.cuh"

namespace octavo::cuda::split {

void launchFewE4m3(const Arguments& a, const Launch& to) { launchCodeType<DType::kE4M3, true>(a, to); }

}  // namespace octavo::cuda::split
