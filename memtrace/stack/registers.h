// The registers of a walk: their numbers in DWARF tables (x86-64 psABI, figure 3.36; DWARF for the Arm 64-bit
// Architecture, 4.1).
#pragma once

#include <cstdint>

namespace octavo::memtrace {

#if defined(__x86_64__)
constexpr uint64_t kFramePointer = 6;
constexpr uint64_t kStackPointer = 7;
#elif defined(__aarch64__)
constexpr uint64_t kFramePointer = 29;
constexpr uint64_t kStackPointer = 31;
#else
#error "memtrace runs on x86-64 and arm64"
#endif

struct Registers {
  /** A return address: tables need only be exact where a call is. */
  uint64_t programCounter;
  uint64_t stackPointer;
  uint64_t framePointer;
};

/** arm64 may sign return addresses in their upper bits; the instruction does nothing on processors without. */
inline uint64_t stripSignature(uint64_t address) {
#if defined(__aarch64__)
  register uint64_t link asm("x30") = address;
  asm("hint #7" : "+r"(link));  // xpaclri
  return link;
#else
  return address;
#endif
}

}  // namespace octavo::memtrace
