#include "memory/arena_resource.h"

#include "base/error.h"
#include "memory/format_bytes.h"

namespace octavo {

ArenaResource::ArenaResource(MemoryResource& upstream, size_t bytes, const Owner& owner, std::string_view tag)
    : upstream_(upstream),
      bytes_(bytes),
      base_(static_cast<char*>(upstream.allocate(bytes, nullptr, owner, tag))) {}

ArenaResource::~ArenaResource() { upstream_.deallocate(base_, bytes_, nullptr); }

void* ArenaResource::allocate(size_t bytes, Stream*, const Owner&, std::string_view tag) {
  if (bytes == 0) {
    throw Error(ErrorCode::kInvalidArgument, "asked 0 bytes for " + std::string(tag) + "; ask at least 1");
  }
  const std::lock_guard lock(mutex_);
  const size_t left = bytes_ - used_;
  if (bytes > left || rounded(bytes) > left) {
    throw Error(ErrorCode::kOutOfMemory, "asked " + formatBytes(bytes) + " for " + std::string(tag) +
                                             " of an arena of " + formatBytes(bytes_) + " with " +
                                             formatBytes(left) + " left; plan a larger one");
  }
  void* const data = base_ + used_;
  used_ += rounded(bytes);
  ++live_;
  return data;
}

void ArenaResource::deallocate(void*, size_t, Stream*) noexcept {
  const std::lock_guard lock(mutex_);
  if (--live_ == 0) used_ = 0;
}

size_t ArenaResource::used() const {
  const std::lock_guard lock(mutex_);
  return used_;
}

}  // namespace octavo
