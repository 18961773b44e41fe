#include "runtime/errors.h"

#include <cuda.h>

namespace octavo::emulator {

namespace {

thread_local cudaError_t last = cudaSuccess;

struct Words {
  cudaError_t status;
  const char* name;
  const char* sentence;
};

#define OCTAVO_WORDS(name, sentence) {name, #name, sentence}
constexpr Words kWords[] = {
    OCTAVO_WORDS(cudaSuccess, "no error"),
    OCTAVO_WORDS(cudaErrorInvalidValue, "invalid argument"),
    OCTAVO_WORDS(cudaErrorMemoryAllocation, "out of memory"),
    OCTAVO_WORDS(cudaErrorInvalidConfiguration, "invalid configuration argument"),
    OCTAVO_WORDS(cudaErrorInvalidDevice, "invalid device ordinal"),
    OCTAVO_WORDS(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    OCTAVO_WORDS(cudaErrorIllegalAddress, "an illegal memory access was encountered"),
    OCTAVO_WORDS(cudaErrorLaunchFailure, "unspecified launch failure"),
    OCTAVO_WORDS(cudaErrorNotReady, "device not ready"),
    OCTAVO_WORDS(cudaErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing"),
    OCTAVO_WORDS(cudaErrorStreamCaptureInvalidated, "operation failed due to a previous error during capture"),
    OCTAVO_WORDS(cudaErrorStreamCaptureWrongThread, "attempt to terminate a thread-local capture sequence elsewhere"),
    OCTAVO_WORDS(cudaErrorIllegalState, "the operation cannot be performed in the present state"),
};
#undef OCTAVO_WORDS

const Words& wordsOf(cudaError_t status) {
  static constexpr Words kUnknown = {cudaErrorUnknown, "cudaErrorUnknown", "an error that the emulator has no words for"};
  for (const Words& words : kWords) {
    if (words.status == status) return words;
  }
  return kUnknown;
}

}  // namespace

cudaError_t report(cudaError_t status) {
  if (status != cudaSuccess) last = status;
  return status;
}

}  // namespace octavo::emulator

extern "C" {

cudaError_t cudaGetLastError() {
  const cudaError_t status = octavo::emulator::last;
  octavo::emulator::last = cudaSuccess;
  return status;
}

cudaError_t cudaPeekAtLastError() { return octavo::emulator::last; }
const char* cudaGetErrorName(cudaError_t status) { return octavo::emulator::wordsOf(status).name; }
const char* cudaGetErrorString(cudaError_t status) { return octavo::emulator::wordsOf(status).sentence; }

}
