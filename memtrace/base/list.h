// A growing array of plain values on pages of its own.
#pragma once

#include <cstring>
#include <type_traits>

#include "base/pages.h"

namespace octavo::memtrace {

/** Never frees on destruction: the tracer's tables live until the process ends. */
template <typename Value>
class List {
  static_assert(std::is_trivially_copyable_v<Value>);

 public:
  size_t size() const { return size_; }
  Value* begin() { return values_; }
  Value* end() { return values_ + size_; }
  const Value* begin() const { return values_; }
  const Value* end() const { return values_ + size_; }
  Value& operator[](size_t index) { return values_[index]; }
  const Value& operator[](size_t index) const { return values_[index]; }

  /** False when there is no memory; nothing has changed then. */
  bool add(const Value& value) { return insert(size_, value); }

  bool insert(size_t index, const Value& value) {
    const Value copy = value;
    if (!reserve(size_ + 1)) return false;
    std::memmove(values_ + index + 1, values_ + index, (size_ - index) * sizeof(Value));
    values_[index] = copy;
    size_++;
    return true;
  }

  bool addAll(const Value* values, size_t count) {
    if (!reserve(size_ + count)) return false;
    std::memcpy(values_ + size_, values, count * sizeof(Value));
    size_ += count;
    return true;
  }

  void remove(size_t index) {
    std::memmove(values_ + index, values_ + index + 1, (size_ - index - 1) * sizeof(Value));
    size_--;
  }

  bool reserve(size_t count) {
    if (count <= capacity_) return true;
    size_t bytes = capacity_ == 0 ? kFirstBytes : capacityBytes_ * 2;
    while (bytes / sizeof(Value) < count) bytes *= 2;
    void* grown = growPages(values_, capacityBytes_, bytes);
    if (grown == nullptr) return false;
    values_ = static_cast<Value*>(grown);
    capacityBytes_ = bytes;
    capacity_ = bytes / sizeof(Value);
    return true;
  }

  /** Gives the memory back. */
  void clear() {
    givePages(values_, capacityBytes_);
    *this = List();
  }

 private:
  static constexpr size_t kFirstBytes = 4096;
  Value* values_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
  size_t capacityBytes_ = 0;
};

}  // namespace octavo::memtrace
