// Where 16-byte chunks lie in shared memory: XOR of bits of the address itself, the same for the copy engine and the
// tensor cores (PTX ISA, "Swizzling modes").
#pragma once

#include <cstdint>

namespace octavo::emulator {

/** By the bytes of a row in which chunks change places. */
enum class Swizzle : uint8_t { kNone = 0, k32 = 1, k64 = 2, k128 = 3 };

constexpr uint32_t spanOf(Swizzle swizzle) { return 16u << static_cast<uint32_t>(swizzle); }

/** Bits 4 … 6 (4 … 5, 4) ^= bits 7 … 9 (7 … 8, 7). */
constexpr uint32_t swizzled(uint32_t address, Swizzle swizzle) {
  return address ^ (address >> 3 & (spanOf(swizzle) - 16));
}

static_assert(swizzled(0x380, Swizzle::k128) == 0x3f0 && swizzled(0x390, Swizzle::k64) == 0x3a0);
static_assert(swizzled(0x380, Swizzle::k32) == 0x390 && swizzled(0x390, Swizzle::kNone) == 0x390);

}  // namespace octavo::emulator
