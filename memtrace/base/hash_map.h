// From 64-bit keys to plain values: open addressing, linear probing, no tombstones.
#pragma once

#include <cstdint>
#include <type_traits>

#include "base/pages.h"

namespace octavo::memtrace {

/** Not thread-safe. Key 0 is not a key. Expected O(1) each; growing copies once per doubling. */
template <typename Value>
class HashMap {
  static_assert(std::is_trivially_copyable_v<Value>);

 public:
  size_t size() const { return size_; }

  Value* find(uint64_t key) {
    for (size_t at = slots_ == nullptr ? 0 : home(key); slots_ != nullptr; at = next(at)) {
      if (slots_[at].key == key) return &slots_[at].value;
      if (slots_[at].key == 0) break;
    }
    return nullptr;
  }

  /** The value of `key`, made now if it was not there; nullptr when there is no memory. */
  Value* put(uint64_t key, const Value& value) {
    if ((size_ + 1) * 4 > capacity() * 3 && !grow()) return nullptr;
    size_t at = home(key);
    while (slots_[at].key != 0 && slots_[at].key != key) at = next(at);
    if (slots_[at].key == 0) size_++;
    slots_[at] = {key, value};
    return &slots_[at].value;
  }

  /** Takes the entry out; false when there is none. */
  bool take(uint64_t key, Value* value) {
    if (slots_ == nullptr) return false;
    size_t at = home(key);
    while (slots_[at].key != key) {
      if (slots_[at].key == 0) return false;
      at = next(at);
    }
    *value = slots_[at].value;
    close(at);
    return true;
  }

  template <typename Visit>
  void forEach(Visit visit) {
    for (size_t at = 0; at < capacity(); at++) {
      if (slots_[at].key != 0) visit(slots_[at].key, slots_[at].value);
    }
  }

  void clear() {
    givePages(slots_, capacity() * sizeof(Slot));
    *this = HashMap();
  }

 private:
  struct Slot {
    uint64_t key;
    Value value;
  };
  static constexpr int kFirstBits = 6;

  size_t capacity() const { return slots_ == nullptr ? 0 : size_t{1} << bits_; }
  size_t next(size_t at) const { return (at + 1) & (capacity() - 1); }
  /** Fibonacci hashing: the high bits of key × 2⁶⁴/φ. */
  size_t home(uint64_t key) const { return key * 0x9e3779b97f4a7c15u >> (64 - bits_); }

  /** Moves later entries of the run back over the gap, so that no probe ends before its entry. */
  void close(size_t gap) {
    for (size_t at = next(gap); slots_[at].key != 0; at = next(at)) {
      const size_t distance = (at - home(slots_[at].key)) & (capacity() - 1);
      if (distance < ((at - gap) & (capacity() - 1))) continue;
      slots_[gap] = slots_[at];
      gap = at;
    }
    slots_[gap].key = 0;
    size_--;
  }

  bool grow() {
    HashMap larger;
    larger.bits_ = slots_ == nullptr ? kFirstBits : bits_ + 1;
    larger.slots_ = static_cast<Slot*>(takePages(sizeof(Slot) << larger.bits_));
    if (larger.slots_ == nullptr) return false;
    forEach([&](uint64_t key, const Value& value) { larger.put(key, value); });
    givePages(slots_, capacity() * sizeof(Slot));
    *this = larger;
    return true;
  }

  Slot* slots_ = nullptr;
  int bits_ = 0;
  size_t size_ = 0;
};

}  // namespace octavo::memtrace
