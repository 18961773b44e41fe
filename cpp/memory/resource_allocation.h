// Memory of a resource that gives itself back.
#pragma once

#include <utility>

#include "memory/memory_resource.h"

namespace octavo {

/** A live allocation of `resource`, which must outlive it; destroying it gives the bytes back. Move-only. */
class ResourceAllocation {
 public:
  ResourceAllocation() = default;
  /** Throws what `allocate` of the resource throws. */
  ResourceAllocation(MemoryResource& resource, size_t bytes, Stream* stream, const Owner& owner, std::string_view tag)
      : resource_(&resource), data_(resource.allocate(bytes, stream, owner, tag)), bytes_(bytes), stream_(stream) {}
  ResourceAllocation(ResourceAllocation&& other) noexcept
      : resource_(other.resource_), data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_),
        stream_(other.stream_) {}
  ResourceAllocation& operator=(ResourceAllocation&& other) noexcept {
    if (this == &other) return *this;
    release();
    resource_ = other.resource_;
    data_ = std::exchange(other.data_, nullptr);
    bytes_ = other.bytes_;
    stream_ = other.stream_;
    return *this;
  }
  ~ResourceAllocation() { release(); }
  void* data() const { return data_; }
  /** As asked for. */
  size_t bytes() const { return bytes_; }
  void release() noexcept {
    if (data_) resource_->deallocate(std::exchange(data_, nullptr), bytes_, stream_);
  }

 private:
  MemoryResource* resource_ = nullptr;
  void* data_ = nullptr;
  size_t bytes_ = 0;
  Stream* stream_ = nullptr;
};

}  // namespace octavo
