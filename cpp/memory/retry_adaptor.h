// A second chance: when upstream has no more, somebody may give memory back.
#pragma once

#include <functional>

#include "memory/memory_resource.h"

namespace octavo {

/** Asks upstream again, once, when it refused with kOutOfMemory and `giveBack` gave something back. */
class RetryAdaptor final : public MemoryResource {
 public:
  RetryAdaptor(MemoryResource& upstream, std::function<bool()> giveBack)
      : upstream_(upstream), giveBack_(std::move(giveBack)) {}
  void* allocate(size_t bytes, Stream* stream, const Owner& owner, std::string_view tag) override;
  void deallocate(void* data, size_t bytes, Stream* stream) noexcept override;

 private:
  MemoryResource& upstream_;
  std::function<bool()> giveBack_;
};

}  // namespace octavo
