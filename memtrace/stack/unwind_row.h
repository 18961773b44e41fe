// How to leave one frame: where the caller's stack begins, and where its return address and frame pointer were saved.
#pragma once

#include <cstdint>

namespace octavo::memtrace {

struct UnwindRow {
  enum class Kind : uint8_t {
    kUnknown,  // no unwind table, or one that takes more than offsets from two registers
    kEnd,      // the outermost frame
    kStep,
  };
  static constexpr int64_t kUnsaved = 0;  // an offset from the CFA that no register is saved at

  Kind kind = Kind::kUnknown;
  /** The canonical frame address is this much above the frame pointer, or above the stack pointer. */
  bool fromFramePointer = false;
  int64_t cfaOffset = 0;
  /** From the CFA; kUnsaved: the register still holds the caller's. */
  int64_t framePointerOffset = kUnsaved;
  int64_t returnOffset = kUnsaved;

  /** 64 bits: kind 2, base 1, three offsets in units of 8: 21, 20, 20. kUnknown when an offset does not fit. */
  uint64_t pack() const {
    const bool fits = isSmall(cfaOffset, 21) && isSmall(framePointerOffset, 20) && isSmall(returnOffset, 20);
    if (!fits || kind != Kind::kStep) return static_cast<uint64_t>(fits ? kind : Kind::kUnknown);
    return static_cast<uint64_t>(kind) | uint64_t{fromFramePointer} << 2 | bits(cfaOffset, 21) << 3 |
           bits(framePointerOffset, 20) << 24 | bits(returnOffset, 20) << 44;
  }

  static UnwindRow unpack(uint64_t packed) {
    return {static_cast<Kind>(packed & 3), (packed >> 2 & 1) != 0, signedBits(packed >> 3, 21),
            signedBits(packed >> 24, 20), signedBits(packed >> 44, 20)};
  }

 private:
  static bool isSmall(int64_t offset, int width) {
    const int64_t limit = int64_t{8} << (width - 1);
    return offset % 8 == 0 && offset >= -limit && offset < limit;
  }
  static uint64_t bits(int64_t offset, int width) {
    return static_cast<uint64_t>(offset / 8) & ((uint64_t{1} << width) - 1);
  }
  static int64_t signedBits(uint64_t value, int width) {
    return static_cast<int64_t>(value << (64 - width)) >> (64 - width) << 3;
  }
};

}  // namespace octavo::memtrace
