// The last error of a thread, as the runtime keeps it.
#pragma once

#include <cuda_runtime_api.h>

namespace octavo::emulator {

/** Remembers an error for cudaGetLastError; returns it. */
cudaError_t report(cudaError_t status);

}  // namespace octavo::emulator
