// The order of everything that a card leaves open.
#pragma once

#include <cstdint>

namespace octavo::emulator {

/** xorshift64* (Vigna, "An experimental exploration of Marsaglia's xorshift generators", 2016). */
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 0x2545f4914f6cdd1du) {}

  uint32_t next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return static_cast<uint32_t>(state_ * 0x2545f4914f6cdd1du >> 32);
  }
  uint32_t below(uint32_t limit) { return static_cast<uint32_t>(uint64_t{next()} * limit >> 32); }

 private:
  uint64_t state_;
};

}  // namespace octavo::emulator
