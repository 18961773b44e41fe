// Which of the cards in cuda/gemm/card_rates.h a device is, or is most like.
#pragma once

#include <string>

#include "cuda/device/device_traits.h"

namespace octavo::cuda {

/**
 * By the driver's name for it. One of another name: before Hopper an A100; of Hopper, by what its memory moves at the
 * most, in bytes a second, an H100 or an H200; later ones an H200.
 */
Card cardOf(const std::string& name, int computeMajor, double memoryBytesPerSecond);

/** The same of device `index`. Throws kDeviceFailed. */
Card cardOfDevice(int index, const std::string& name, int computeMajor);

}  // namespace octavo::cuda
