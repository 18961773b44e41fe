// A ceiling and what is held under it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>

namespace octavo {

/** Not thread-safe: its user's lock guards it. */
class ByteLimit {
 public:
  static constexpr size_t kUnlimited = std::numeric_limits<size_t>::max();
  explicit ByteLimit(size_t bytes = kUnlimited) : limit_(bytes) {}

  size_t limit() const { return limit_; }
  size_t held() const { return held_; }
  size_t peak() const { return peak_; }
  /** Lowering below what is held refuses new requests only. */
  void setLimit(size_t bytes) { limit_ = bytes; }
  bool canHold(size_t bytes) const { return held_ <= limit_ && bytes <= limit_ - held_; }
  void charge(size_t bytes) {
    held_ += bytes;
    peak_ = std::max(peak_, held_);
  }
  void refund(size_t bytes) { held_ -= bytes; }

 private:
  size_t limit_, held_ = 0, peak_ = 0;
};

}  // namespace octavo
