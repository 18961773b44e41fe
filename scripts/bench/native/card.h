// The card that runs the benchmark.
#pragma once

#include <string>

#include "cuda/device/device_traits.h"

namespace octavo::bench {

struct Card {
  std::string name;
  cuda::DeviceTraits traits;
  double tensorFlops = 0;  // a second: 16-bit products, all tensor cores at the highest clock
  int megahertz = 0;

  /** `tensor cores at 1980 MHz` */
  std::string limitName() const { return "tensor cores at " + std::to_string(megahertz) + " MHz"; }
};

/** Device 0. Throws kDeviceFailed without one. */
Card currentCard();

/** `card` as its kernels for A100-class cards would see it. */
cuda::DeviceTraits ampereTraits(const Card& card);

}  // namespace octavo::bench
