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
 * Bins by size (exact up to 32 KiB, then 32 to a doubling) and a bitmap of those that hold something; the best fit is
 * exact. Blocks of an exact bin are a list, the last one in is the first one out: O(1), and no guess of the processor
 * goes wrong. Those of another are a treap ordered by (size, address), so that among equals the lowest address goes
 * first, which keeps used blocks together: O(log n) in the blocks of one bin, most often O(1).
 */
class FreeIndex {
 public:
  void insert(CachedBlock& block) noexcept {
    const size_t bin = binOf(block.bytes);
    CachedBlock* const head = roots_[bin];
    if (head && bin >= kExact) return insertBeside(bin, block);
    block.left = nullptr;
    block.right = head;
    roots_[bin] = &block;
    if (head) {
      head->left = &block;
    } else {
      used_[bin / 64] |= uint64_t{1} << bin % 64;
      usedWords_ |= uint32_t{1} << bin / 64;
    }
  }
  /** `block` must be in the index. */
  void erase(CachedBlock& block) noexcept { eraseFrom(binOf(block.bytes), block); }
  /** Takes out the smallest block of at least `bytes`, but at most `most`; nullptr when there is none. */
  CachedBlock* takeBestFit(size_t bytes, size_t most = SIZE_MAX) noexcept {
    CachedBlock* const best = bestFit(bytes);
    if (!best || best->bytes > most) return nullptr;
    erase(*best);
    return best;
  }

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
    const size_t doublings = std::bit_width(units / 32 | 1) - 1;  // beyond the exact ones: without a branch
    return doublings * 32 + (units >> doublings);
  }
  CachedBlock* bestFit(size_t bytes) const noexcept {
    const size_t bin = binOf(bytes);
    if (bin >= kBins) return nullptr;
    CachedBlock* best = roots_[bin];
    if (best && bin >= kExact) best = leastOf(best, bytes);
    return best ? best : leastOf(firstBinFrom(bin + 1));
  }
  /** Of at least `bytes`; nullptr when there is none. */
  static CachedBlock* leastOf(CachedBlock* root, size_t bytes) noexcept {
    CachedBlock* best = nullptr;
    for (CachedBlock* at = root; at;) {
      const bool fits = at->bytes >= bytes;
      if (fits) best = at;
      at = fits ? at->left : at->right;
    }
    return best;
  }
  CachedBlock* leastOf(size_t bin) const noexcept {
    if (bin == kBins) return nullptr;
    CachedBlock* least = roots_[bin];
    while (least->left) least = least->left;  // none has any in a list
    return least;
  }
  size_t firstBinFrom(size_t bin) const noexcept {
    if (bin >= kBins) return kBins;
    const size_t word = bin / 64;
    const uint64_t here = used_[word] >> bin % 64;
    if (here != 0) return bin + static_cast<size_t>(std::countr_zero(here));
    const uint32_t later = word + 1 < 32 ? usedWords_ >> (word + 1) : 0;
    if (later == 0) return kBins;
    const size_t found = word + 1 + static_cast<size_t>(std::countr_zero(later));
    return found * 64 + static_cast<size_t>(std::countr_zero(used_[found]));
  }
  void eraseFrom(size_t bin, CachedBlock& block) noexcept {
    if (bin < kExact) {
      if (block.right) block.right->left = block.left;
      (block.left ? block.left->right : roots_[bin]) = block.right;
      if (roots_[bin]) return;
    } else {
      if (roots_[bin] != &block || block.left || block.right) return eraseAmong(bin, block);
      roots_[bin] = nullptr;
    }
    const uint64_t left = used_[bin / 64] &= ~(uint64_t{1} << bin % 64);
    if (left == 0) usedWords_ &= ~(uint32_t{1} << bin / 64);
  }
  void insertBeside(size_t bin, CachedBlock& block) noexcept;
  void eraseAmong(size_t bin, CachedBlock& block) noexcept;

  std::array<CachedBlock*, kBins> roots_{};
  std::array<uint64_t, kWords> used_{};  // a bit a bin
  uint32_t usedWords_ = 0;               // a bit a word of `used_`
};

}  // namespace octavo
