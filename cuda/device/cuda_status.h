// What the driver says about this machine, in words.
#pragma once

#include "device/device.h"

namespace octavo::cuda {

/** Throws kNoDriver, kKernelsUnavailable (driver too old) or kNoDevice unless device `index` exists. */
void requireDevice(int index);

/** Facts of an existing device; creates no context. Throws kDeviceFailed. */
DeviceInfo describeDevice(int index);

/** 13000 as "13.0". */
std::string versionText(int version);

}  // namespace octavo::cuda
