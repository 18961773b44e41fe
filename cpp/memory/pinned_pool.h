// Page-locked host buffers that are kept when they are given back: to lock pages takes the driver milliseconds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace octavo {

/** Pure bookkeeping: whose lock guards it also takes from the device and gives back. Not thread-safe. */
class PinnedPool {
 public:
  static constexpr size_t kSmallest = 4096;

  struct Buffer { void* data = nullptr; size_t bytes = 0; };

  /** The size class for `bytes`: 4 KiB, and from there four a doubling, so that at most a fifth is unused. */
  static size_t rounded(size_t bytes);
  /** The largest class within `bytes`, of at least the smallest one. */
  static size_t roundedDown(size_t bytes);

  /** The most bytes that may be kept; 0 at first. What is kept already stays. */
  void setMost(size_t bytes) { most_ = bytes; }
  bool canKeep(size_t bytes) const { return bytes_ <= most_ && bytes <= most_ - bytes_; }
  /** Takes in a buffer of one class that nothing reads or writes any more. */
  void keep(const Buffer& buffer);
  /** A kept buffer of that class, the one kept last; nullptr when there is none. O(log classes). */
  void* take(size_t bytes);
  /** Takes out one of the largest; no data when none is kept. */
  Buffer takeLargest();

  size_t bytes() const { return bytes_; }
  uint64_t buffers() const { return buffers_; }
  size_t largestBytes() const { return kept_.empty() ? 0 : kept_.rbegin()->first; }
  /** Requests that were served without the device. */
  uint64_t reuses() const { return reuses_; }
  /** Throws kInternal when counts are wrong, or a buffer is of no class or kept twice. */
  void check() const;

 private:
  using Kept = std::map<size_t, std::vector<void*>>;  // by class, none of them empty
  Buffer takeFrom(Kept::iterator place);

  Kept kept_;
  size_t most_ = 0, bytes_ = 0;
  uint64_t buffers_ = 0, reuses_ = 0;
};

}  // namespace octavo
