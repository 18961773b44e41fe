// The device's memory: pages of the process that hold poison until they are written.
#pragma once

#include <cstddef>
#include <cstdint>

namespace octavo::emulator {

constexpr size_t kDeviceBytes = size_t{12} << 30;
constexpr size_t kMemoryPage = 2 << 20;  // what the driver maps at once

/** Addresses that cannot be touched; nullptr when there are none. */
uint8_t* reserve(size_t bytes);
void releaseAddresses(uint8_t* at, size_t bytes);
/** Whole pages of 4096 bytes become memory full of poison (0xff). */
bool place(uint8_t* at, size_t bytes);
/** They cannot be touched again. */
void displace(uint8_t* at, size_t bytes);

/** Counts against the device's memory; false when it has not that much. */
bool take(size_t bytes);
void giveBack(size_t bytes);
size_t freeBytes();

/** An allocation, its end at a page that cannot be touched; nullptr when the device has not that much. */
uint8_t* allocate(size_t bytes);
/** False for a pointer that is none. */
bool release(void* pointer);

}  // namespace octavo::emulator
