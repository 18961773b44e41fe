// How many streams, events, graphs and page-locked buffers of a device are alive.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

namespace octavo {

enum class ObjectKind : uint8_t { kStream, kEvent, kGraph, kPinned };
constexpr int kObjectKindCount = 4;

/** Thread-safe. */
class ObjectCounts {
 public:
  void add(ObjectKind kind) noexcept { ++counts_[static_cast<size_t>(kind)]; }
  void remove(ObjectKind kind) noexcept { --counts_[static_cast<size_t>(kind)]; }
  int64_t count(ObjectKind kind) const noexcept { return counts_[static_cast<size_t>(kind)]; }

 private:
  std::array<std::atomic<int64_t>, kObjectKindCount> counts_{};
};

/** A member of every counted wrapper. */
class CountedObject {
 public:
  CountedObject(std::shared_ptr<ObjectCounts> counts, ObjectKind kind) : counts_(std::move(counts)), kind_(kind) {
    counts_->add(kind_);
  }
  ~CountedObject() { counts_->remove(kind_); }
  CountedObject(const CountedObject&) = delete;
  CountedObject& operator=(const CountedObject&) = delete;

 private:
  std::shared_ptr<ObjectCounts> counts_;  // outlives the device, so that what is left over is still counted
  ObjectKind kind_;
};

}  // namespace octavo
