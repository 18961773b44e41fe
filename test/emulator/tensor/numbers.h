// The numbers that tensor cores multiply, as floats: all of them are exact there.
#pragma once

#include <cstdint>

namespace octavo::emulator {

enum class Format { kBF16, kF16, kE4M3, kInt8 };

constexpr int bytesOf(Format format) { return format == Format::kBF16 || format == Format::kF16 ? 2 : 1; }
/** Of one instruction along K: 32 bytes. */
constexpr int depthOf(Format format) { return 32 / bytesOf(format); }

/** `count` numbers from `from` on, `step` floats apart in `to`. */
void toFloats(Format format, const void* from, float* to, int count, int step);

/** a · b + c, rounded once. */
uint16_t fuseBF16(uint16_t a, uint16_t b, uint16_t c);
uint16_t fuseF16(uint16_t a, uint16_t b, uint16_t c);

}  // namespace octavo::emulator
