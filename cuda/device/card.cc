#include "cuda/device/card.h"

#include <cuda_runtime_api.h>

#include "cuda/device/cuda_check.h"

namespace octavo::cuda {

namespace {

constexpr double kBetween = 4.1e12;  // 3.35 TB/s of an H100 (SXM), 4.8 TB/s of an H200 (datasheets)

/** The word alone: a GH200 is either, by its memory. */
bool isNamed(const std::string& name, const std::string& word) {
  const std::string padded = " " + name + " ";
  const size_t at = padded.find(" " + word);
  if (at == std::string::npos) return false;
  const char next = padded[at + 1 + word.size()];
  return next == ' ' || next == '-';
}

}  // namespace

Card cardOf(const std::string& name, int computeMajor, double memoryBytesPerSecond) {
  if (computeMajor < 9) return Card::kA100;
  if (computeMajor > 9 || isNamed(name, "H200")) return Card::kH200;
  if (isNamed(name, "H100")) return Card::kH100;
  return memoryBytesPerSecond < kBetween ? Card::kH100 : Card::kH200;
}

Card cardOfDevice(int index, const std::string& name, int computeMajor) {
  int kilohertz = 0, bits = 0;
  check(cudaDeviceGetAttribute(&kilohertz, cudaDevAttrMemoryClockRate, index), "cudaDeviceGetAttribute");
  check(cudaDeviceGetAttribute(&bits, cudaDevAttrGlobalMemoryBusWidth, index), "cudaDeviceGetAttribute");
  return cardOf(name, computeMajor, 2e3 * kilohertz * bits / 8);  // two transfers a clock
}

}  // namespace octavo::cuda
