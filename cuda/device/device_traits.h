// What the launchers must know of a device to choose well.
#pragma once

namespace octavo::cuda {

struct DeviceTraits {
  int architecture = 80;      // of the code that is loaded: 80, or 90 for sm_90a
  int multiprocessors = 1;
};

}  // namespace octavo::cuda
