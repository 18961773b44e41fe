// Host memory for the CPU device: aligned, and straight from the kernel when it is big.
#pragma once

#include <cstddef>

namespace octavo {

/** At least 256-byte aligned, contents undefined; nullptr when there is none. */
void* allocateHost(size_t bytes) noexcept;
void freeHost(void* pointer, size_t bytes) noexcept;

}  // namespace octavo
