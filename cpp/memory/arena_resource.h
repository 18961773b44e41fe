// A planned arena: one piece of upstream, given out front to back.
#pragma once

#include <mutex>
#include <string>

#include "memory/memory_resource.h"

namespace octavo {

/**
 * Takes its whole size at once and never asks again: what does not fit is a fault of the plan (kOutOfMemory: asked,
 * left, size). Pieces are rounded up to 256 bytes. Space returns when every piece was given back. O(1).
 */
class ArenaResource final : public MemoryResource {
 public:
  /** Takes `bytes` of upstream under that owner and tag. */
  ArenaResource(MemoryResource& upstream, size_t bytes, const Owner& owner, std::string_view tag);
  ~ArenaResource() override;
  ArenaResource(const ArenaResource&) = delete;
  ArenaResource& operator=(const ArenaResource&) = delete;
  void* allocate(size_t bytes, Stream* stream, const Owner& owner, std::string_view tag) override;
  void deallocate(void* data, size_t bytes, Stream* stream) noexcept override;

  static constexpr size_t rounded(size_t bytes) { return (bytes + 255) / 256 * 256; }
  size_t bytes() const { return bytes_; }
  size_t used() const;

 private:
  MemoryResource& upstream_;
  size_t bytes_;
  char* base_;
  mutable std::mutex mutex_;
  size_t used_ = 0;
  uint64_t live_ = 0;
};

}  // namespace octavo
