// A hard ceiling over a resource.
#pragma once

#include <mutex>

#include "memory/byte_limit.h"
#include "memory/memory_resource.h"

namespace octavo {

/** Refuses (kOutOfMemory: asked, held, limit) before it asks upstream. Counts bytes as asked for. */
class LimitAdaptor final : public MemoryResource {
 public:
  LimitAdaptor(MemoryResource& upstream, size_t limitBytes) : upstream_(upstream), limit_(limitBytes) {}
  void* allocate(size_t bytes, Stream* stream, const Owner& owner, std::string_view tag) override;
  void deallocate(void* data, size_t bytes, Stream* stream) noexcept override;
  /** Lowering below what is held refuses new requests only. */
  void setLimit(size_t bytes);
  size_t held() const;

 private:
  void refund(size_t bytes) noexcept;

  MemoryResource& upstream_;
  mutable std::mutex mutex_;
  ByteLimit limit_;
};

}  // namespace octavo
