#include <utility>

#include "memory/allocator.h"

namespace octavo {

Allocation::Allocation(Allocation&& other) noexcept
    : allocator_(std::move(other.allocator_)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      region_(other.region_),
      owner_(other.owner_),
      tag_(std::move(other.tag_)) {}

Allocation& Allocation::operator=(Allocation&& other) noexcept {
  if (this == &other) return *this;
  release();
  allocator_ = std::move(other.allocator_);
  data_ = std::exchange(other.data_, nullptr);
  bytes_ = std::exchange(other.bytes_, 0);
  region_ = other.region_;
  owner_ = other.owner_;
  tag_ = std::move(other.tag_);
  return *this;
}

void Allocation::release() noexcept {
  if (!data_) return;
  // Ours may be the last reference to the allocator: it must outlive the call.
  const std::shared_ptr<DeviceAllocator> allocator = std::move(allocator_);
  allocator->free(region_, std::exchange(data_, nullptr), std::exchange(bytes_, 0), owner_, tag_);
}

}  // namespace octavo
