// One small kernel of this build, to learn whether a device and its driver can run them at all.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace octavo::cuda {

constexpr int kVerifyCount = 256;

/** Enqueues out[i] = expectedValue(i) for i < kVerifyCount. Returns the status of the launch. */
cudaError_t launchVerify(uint32_t* out, cudaStream_t stream);

/** What the kernel must have written. */
uint32_t expectedVerifyValue(int index);

/** 90 when the sm_90a code is what runs on the current device, 80 when the sm_80 code or its PTX is. */
int loadedArchitecture();

}  // namespace octavo::cuda
