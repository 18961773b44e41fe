// Memory filled at random, the same on every device: the weights of shapes whose files are not there.
#pragma once

#include "ops/tensor.h"

namespace octavo {

/** What a word of the sequence becomes. */
enum class RandomKind : uint8_t {
  /** A float: middle + reach · u, rounded once and then to the dtype; u from −1 up to 1, evenly. */
  kUniform,
  /** A byte: the lowest eight bits. */
  kBits,
  /** An e4m3 number of at most 240, as evenly as e4m3 can be; never NaN. */
  kE4M3,
};

/** Element i of `to` comes from word first + i of the sequence of `seed`, whatever is filled before it. */
struct RandomFill {
  RandomKind kind = RandomKind::kUniform;
  void* to = nullptr;
  DType dtype = DType::kF32;  // kUniform: a float; else kU8
  int64_t first = 0, count = 0;
  uint64_t seed = 0;
  float middle = 0, reach = 1;  // of kUniform
};

/**
 * The upper half of output `index` of SplitMix64: G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number
 * generators", 2014.
 */
constexpr uint32_t randomWord(uint64_t seed, uint64_t index) {
  uint64_t word = seed + (index + 1) * 0x9e3779b97f4a7c15u;
  word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9u;
  word = (word ^ word >> 27) * 0x94d049bb133111ebu;
  return static_cast<uint32_t>((word ^ word >> 31) >> 32);
}

/** From −1 up to 1 in steps of 2⁻²³: every operation is exact. */
constexpr float randomUnit(uint32_t word) { return static_cast<float>(word >> 8) * 0x1p-23f - 1.0f; }

/** Each binade half as likely as the one above it, as those of an even distribution are. */
constexpr uint8_t randomE4m3(uint32_t word) {
  uint32_t exponent = 14;
  for (uint32_t bits = word & 0x3fffu; exponent > 0 && !(bits & 1u); bits >>= 1) --exponent;
  return static_cast<uint8_t>((word >> 24 & 0x80u) | exponent << 3 | (word >> 28 & 7u));
}

}  // namespace octavo
