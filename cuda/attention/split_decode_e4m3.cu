#include "cuda/attention/split_launch.cuh"

namespace octavo::cuda::split {

void launchE4m3(const Arguments& a, const Launch& to) { launchCodeType<DType::kE4M3, false>(a, to); }

}  // namespace octavo::cuda::split
