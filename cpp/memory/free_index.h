// Free blocks by size: best fit in a few nanoseconds. Private to the caching allocator.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "memory/cached_block.h"

namespace octavo {

/** Blocks are multiples of this. */
constexpr size_t kBlockUnit = 512;

/**
 * Bins by size (exact up to 32 KiB, then 32 to a doubling), a bitmap of the bins that hold something, and in each bin
 * a treap ordered by (size, address): the best fit is exact, and among equals the lowest address, which keeps used
 * blocks together. O(log n) in the blocks of one bin, most often O(1).
 */
class FreeIndex {
 public:
  void insert(CachedBlock& block) noexcept;
  /** `block` must be in the index. */
  void erase(CachedBlock& block) noexcept;
  /** Takes out the smallest block of at least `bytes`; nullptr when there is none. */
  CachedBlock* takeBestFit(size_t bytes) noexcept;
  /** The same, but none larger than `most`. */
  CachedBlock* takeBestFit(size_t bytes, size_t most) noexcept;

  /** Blocks in the index, one by one. O(n) */
  uint64_t count() const noexcept;
  size_t largest() const noexcept;
  bool contains(const CachedBlock& block) const noexcept;

 private:
  static constexpr size_t kExact = 64;  // bins of one size
  static constexpr size_t kBins = kExact + 32 * 34;
  static constexpr size_t kWords = kBins / 64;
  static_assert(kBins % 64 == 0 && kWords <= 32);

  static size_t binOf(size_t bytes) {
    const size_t units = bytes / kBlockUnit;
    if (units < kExact) return units;
    const size_t exponent = std::bit_width(units) - 1;
    return kExact + (exponent - 6) * 32 + (units >> (exponent - 5)) % 32;
  }
  const CachedBlock* bestFit(size_t bytes) const noexcept;
  size_t firstBinFrom(size_t bin) const noexcept;
  void eraseFrom(size_t bin, CachedBlock& block) noexcept;

  std::array<CachedBlock*, kBins> roots_{};
  std::array<uint64_t, kWords> used_{};  // a bit a bin
  uint32_t usedWords_ = 0;               // a bit a word of `used_`
};

}  // namespace octavo
