#include "scripts/bench/native/card.h"

#include "cuda/device/card.h"
#include "cuda/device/cuda_check.h"

namespace octavo::bench {

namespace {

int attribute(cudaDeviceAttr which) {
  int value = 0;
  cuda::check(cudaDeviceGetAttribute(&value, which, 0), "cudaDeviceGetAttribute");
  return value;
}

/** Of a multiprocessor and clock: bf16 or fp16 multiplications and additions (datasheets of H100 and A100). */
constexpr double flopsPerClock(int major) { return major >= 9 ? 4096 : 2048; }

}  // namespace

Card currentCard() {
  cudaDeviceProp properties{};
  cuda::check(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
  Card card;
  card.name = properties.name;
  card.traits = {properties.major >= 9 ? 90 : 80, properties.multiProcessorCount};
  card.traits.card = cuda::cardOfDevice(0, properties.name, properties.major);
  card.megahertz = attribute(cudaDevAttrClockRate) / 1000;
  card.tensorFlops = flopsPerClock(properties.major) * properties.multiProcessorCount * card.megahertz * 1e6;
  return card;
}

cuda::DeviceTraits ampereTraits(const Card& card) {
  cuda::DeviceTraits traits = card.traits;
  traits.architecture = 80;
  return traits;
}

}  // namespace octavo::bench
