// Addresses that are counted but hold nothing: replays of a hundred gigabytes on any machine.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>

#include "device/address_range.h"

namespace octavo::testing {

/** What a device with room for `room` pages would say. No address of it may be touched. */
class AccountedRange final : public AddressRange {
 public:
  explicit AccountedRange(size_t pages, size_t room = std::numeric_limits<size_t>::max())
      : pages_(pages), room_(room) {}

  void* base() const override { return reinterpret_cast<void*>(static_cast<uintptr_t>(kPageBytes)); }
  size_t pages() const override { return pages_; }
  bool map(size_t, size_t count) override {
    if (count > room_) return false;
    room_ -= count;
    return true;
  }
  void unmap(size_t, size_t count) noexcept override { room_ += count; }
  /** Another process takes memory (fewer pages) or gives it back. */
  void setRoom(size_t room) { room_ = room; }

 private:
  size_t pages_;
  size_t room_;
};

}  // namespace octavo::testing
