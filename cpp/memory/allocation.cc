#include <utility>

#include "memory/allocator.h"

namespace octavo {

Allocation::Allocation(Allocation&& other) noexcept
    : allocator_(std::move(other.allocator_)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      requestedBytes_(std::exchange(other.requestedBytes_, 0)),
      line_(std::move(other.line_)) {}

Allocation& Allocation::operator=(Allocation&& other) noexcept {
  if (this == &other) return *this;
  release();
  allocator_ = std::move(other.allocator_);
  data_ = std::exchange(other.data_, nullptr);
  bytes_ = std::exchange(other.bytes_, 0);
  requestedBytes_ = std::exchange(other.requestedBytes_, 0);
  line_ = std::move(other.line_);
  return *this;
}

void Allocation::release() noexcept {
  if (!data_) return;
  // Ours may be the last reference to the allocator: it must outlive the call.
  const std::shared_ptr<DeviceAllocator> allocator = std::move(allocator_);
  const LineHandle line = std::move(line_);
  allocator->free(std::exchange(data_, nullptr), std::exchange(bytes_, 0), requestedBytes_, line);
}

}  // namespace octavo
