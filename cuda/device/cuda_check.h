// Every CUDA call's status, turned into the runtime's one exception.
#pragma once

#include <cuda_runtime_api.h>

namespace octavo::cuda {

/** Throws kDeviceFailed naming `call`, CUDA's error name and its words; does nothing on success. */
void check(cudaError_t status, const char* call);

/** After a launch: throws kDeviceFailed naming the kernel when it could not be launched. */
void checkLaunch(const char* kernel);

}  // namespace octavo::cuda
