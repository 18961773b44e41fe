#include "cuda/device/verify_kernel.h"

namespace octavo::cuda {
namespace {

__host__ __device__ uint32_t verifyValue(uint32_t index) { return index * 2654435761u ^ (index << 7); }

__global__ void verifyKernel(uint32_t* out) {
  // A butterfly over the warp and back, so that more than a store has to work.
  uint32_t value = verifyValue(threadIdx.x);
  uint32_t there = __shfl_xor_sync(0xffffffffu, value, 13);
  out[threadIdx.x] = __shfl_xor_sync(0xffffffffu, there, 13);
}

}  // namespace

cudaError_t launchVerify(uint32_t* out, cudaStream_t stream) {
  verifyKernel<<<1, kVerifyCount, 0, stream>>>(out);
  return cudaGetLastError();
}

uint32_t expectedVerifyValue(int index) { return verifyValue(static_cast<uint32_t>(index)); }

int loadedArchitecture() {
  cudaFuncAttributes attributes{};
  if (cudaFuncGetAttributes(&attributes, verifyKernel) != cudaSuccess) {
    cudaGetLastError();
    return 80;
  }
  // Machine code made by the driver from PTX reports the device's binary version but the PTX's own.
  return attributes.ptxVersion >= 90 && attributes.binaryVersion >= 90 ? 90 : 80;
}

}  // namespace octavo::cuda
