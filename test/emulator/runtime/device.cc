#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstring>

#include "machine/machine.h"
#include "runtime/errors.h"
#include "runtime/memory.h"

using namespace octavo::emulator;

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) { return device == 0 ? cudaSuccess : report(cudaErrorInvalidDevice); }

cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (device != 0) return report(cudaErrorInvalidDevice);
  *properties = {};
  std::snprintf(properties->name, sizeof(properties->name), "emulated sm_%d", OCTAVO_EMULATED_ARCHITECTURE);
  properties->major = OCTAVO_EMULATED_ARCHITECTURE / 10;
  properties->minor = OCTAVO_EMULATED_ARCHITECTURE % 10;
  properties->multiProcessorCount = kMultiprocessors;
  properties->totalGlobalMem = kDeviceBytes;
  return cudaSuccess;
}

/** What is asked for: the memory of an H200 (4.8 TB/s). */
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int device) {
  if (device != 0) return report(cudaErrorInvalidDevice);
  if (which == cudaDevAttrMemoryClockRate) *value = 3125000;
  else if (which == cudaDevAttrGlobalMemoryBusWidth) *value = 6144;
  else return report(cudaErrorInvalidValue);
  return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
  if (device != 0) return report(cudaErrorInvalidDevice);
  std::snprintf(text, static_cast<size_t>(length), "emulated");
  return cudaSuccess;
}

}
