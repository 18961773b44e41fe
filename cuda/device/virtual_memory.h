// Address ranges of a CUDA device: pages of physical memory mapped and unmapped by the driver's virtual memory calls.
#pragma once

#include <cstddef>
#include <memory>

#include "device/address_range.h"

namespace octavo::cuda {

/** True when device `index` can map pages of kPageBytes: not on every driver, and not under every hypervisor. */
bool canMapPages(int index);

/**
 * Addresses for `pages` pages of device `index`, which `canMapPages`; nullptr when the driver has none. Its `map`
 * grants access to a whole run at once. Unmapping waits for nothing: the device must have finished with the pages.
 */
std::unique_ptr<AddressRange> reserveDeviceRange(int index, size_t pages);

}  // namespace octavo::cuda
