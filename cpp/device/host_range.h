// Address ranges of the host, and of devices that cannot map piecemeal.
#pragma once

#include <atomic>
#include <memory>

#include "device/address_range.h"

namespace octavo {

class Device;

/**
 * Addresses of this process without memory behind them; `mapped` counts the bytes that have it. nullptr when the
 * address space is used up.
 */
std::unique_ptr<AddressRange> reserveHostRange(size_t pages, std::atomic<size_t>& mapped);

/** All of the range as one raw allocation of `device`, held for life; nullptr when the device is out of memory. */
std::unique_ptr<AddressRange> reserveWholeRange(Device& device, size_t pages);

}  // namespace octavo
