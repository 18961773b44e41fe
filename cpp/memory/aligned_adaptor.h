// A larger alignment than upstream promises.
#pragma once

#include <mutex>
#include <unordered_map>

#include "memory/memory_resource.h"

namespace octavo {

/** Asks `alignment` bytes more and gives out the first address that is a multiple of it. */
class AlignedAdaptor final : public MemoryResource {
 public:
  /** Throws kInvalidArgument unless `alignment` is a power of two. */
  AlignedAdaptor(MemoryResource& upstream, size_t alignment);
  void* allocate(size_t bytes, Stream* stream, const Owner& owner, std::string_view tag) override;
  void deallocate(void* data, size_t bytes, Stream* stream) noexcept override;

 private:
  MemoryResource& upstream_;
  size_t alignment_;
  std::mutex mutex_;
  std::unordered_map<void*, void*> upstreamOf_;  // given out → of upstream
};

}  // namespace octavo
