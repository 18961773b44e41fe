#include "tensor/descriptor.h"

#include <algorithm>

namespace octavo::emulator {

namespace {

constexpr uint32_t kSharedBytes = 228 << 10;

uint32_t field(uint64_t bits, int from) { return static_cast<uint32_t>(bits >> from & 0x3fff) << 4; }

Swizzle swizzleOf(uint64_t bits) {
  constexpr Swizzle kModes[] = {Swizzle::kNone, Swizzle::k128, Swizzle::k64, Swizzle::k32};
  return kModes[bits >> 62];
}

}  // namespace

Descriptor::Descriptor(uint64_t bits)
    : start(field(bits, 0)),
      leading(field(bits, 16)),
      stride(field(bits, 32)),
      baseOffset(static_cast<uint32_t>(bits >> 49 & 7)),
      swizzle(swizzleOf(bits)) {}

/** Of the 16 bytes that begin with (row, k): along K, or along the rows where transposed. */
uint32_t Operand::chunkAt(int row, int k) const {
  const auto r = static_cast<uint32_t>(row), depth = static_cast<uint32_t>(k * bytesOf(format));
  const Descriptor& d = descriptor;
  const uint32_t span = spanOf(d.swizzle);
  uint32_t address = d.start;
  if (isTransposed) {  // of 128 bytes: 64 rows of the operand, then the next ones `leading` bytes on
    const auto line = static_cast<uint32_t>(k);
    address += r / 64 * d.leading + line / 8 * d.stride + line % 8 * 128 + r % 64 * 2;
  } else if (d.swizzle == Swizzle::kNone) {
    address += r / 8 * d.stride + depth / 16 * d.leading + r % 8 * 16;
  } else {
    address += r / 8 * d.stride + r % 8 * span + depth;
  }
  return swizzled(address, d.swizzle);
}

std::string Operand::refusal() const {
  const Descriptor& d = descriptor;
  if (d.baseOffset) return "a matrix descriptor with a base offset, which is not emulated";
  if (isTransposed && (d.swizzle != Swizzle::k128 || bytesOf(format) != 2)) {
    return "a transposed operand that is not of 16 bits and swizzled by 128 bytes, which is not emulated";
  }
  // The pattern must begin with the operand: start addresses move along a row only.
  const uint32_t pattern = d.swizzle == Swizzle::kNone ? 0 : (spanOf(d.swizzle) * 8 - 1) & ~127u;
  if (d.start & pattern) {
    return "a matrix descriptor whose start, " + std::to_string(d.start) + ", lies within a swizzle pattern of " +
           std::to_string(spanOf(d.swizzle) * 8) + " bytes";
  }
  const int depth = depthOf(format);
  const uint32_t last = isTransposed ? chunkAt(rows - 8, depth - 1) : chunkAt(rows - 1, depth / 2);
  if (last + 16 > kSharedBytes) {
    return "a matrix descriptor that leads to byte " + std::to_string(last) + " of shared memory";
  }
  return "";
}

void Operand::read(const uint8_t* window, float* to, int rowStep, int depthStep) const {
  const int depth = depthOf(format), chunk = 16 / bytesOf(format);
  if (isTransposed) {
    for (int k = 0; k < depth; ++k) {
      for (int row = 0; row < rows; row += chunk) {
        toFloats(format, window + chunkAt(row, k), to + row * rowStep + k * depthStep, chunk, rowStep);
      }
    }
    return;
  }
  for (int row = 0; row < rows; ++row) {
    for (int k = 0; k < depth; k += chunk) {
      toFloats(format, window + chunkAt(row, k), to + row * rowStep + k * depthStep, chunk, depthStep);
    }
  }
}

}  // namespace octavo::emulator
