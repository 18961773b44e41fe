#include "cuda/device/cuda_check.h"

#include <string>

#include "base/error.h"

namespace octavo::cuda {

void check(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // a recoverable error must not be reported again by the next launch
  throw Error(ErrorCode::kDeviceFailed, std::string("CUDA failed at ") + call + ": " + cudaGetErrorString(status) +
                                            " (" + cudaGetErrorName(status) + ", error " +
                                            std::to_string(static_cast<int>(status)) + ")");
}

void checkLaunch(const char* kernel) {
  cudaError_t status = cudaGetLastError();
  if (status == cudaSuccess) return;
  check(status, (std::string("the launch of ") + kernel).c_str());
}

}  // namespace octavo::cuda
