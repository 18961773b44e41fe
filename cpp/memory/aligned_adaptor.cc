#include "memory/aligned_adaptor.h"

#include <bit>
#include <limits>

#include "base/error.h"

namespace octavo {

AlignedAdaptor::AlignedAdaptor(MemoryResource& upstream, size_t alignment)
    : upstream_(upstream), alignment_(alignment) {
  if (std::has_single_bit(alignment)) return;
  throw Error(ErrorCode::kInvalidArgument,
              "an alignment of " + std::to_string(alignment) + " bytes; give a power of two");
}

void* AlignedAdaptor::allocate(size_t bytes, Stream* stream, const Owner& owner, std::string_view tag) {
  if (bytes == 0 || bytes > std::numeric_limits<size_t>::max() - alignment_) {
    throw Error(ErrorCode::kInvalidArgument, "asked " + std::to_string(bytes) + " bytes for " + std::string(tag) +
                                                 " aligned to " + std::to_string(alignment_) +
                                                 "; ask at least 1 and what an address can span");
  }
  void* const upstream = upstream_.allocate(bytes + alignment_, stream, owner, tag);
  const auto address = reinterpret_cast<uintptr_t>(upstream);
  void* const data = reinterpret_cast<void*>((address + alignment_ - 1) & ~(alignment_ - 1));
  try {
    const std::lock_guard lock(mutex_);
    upstreamOf_.emplace(data, upstream);
  } catch (...) {
    upstream_.deallocate(upstream, bytes + alignment_, stream);
    throw;
  }
  return data;
}

void AlignedAdaptor::deallocate(void* data, size_t bytes, Stream* stream) noexcept {
  void* upstream = nullptr;
  {
    const std::lock_guard lock(mutex_);
    const auto found = upstreamOf_.find(data);
    if (found == upstreamOf_.end()) return;
    upstream = found->second;
    upstreamOf_.erase(found);
  }
  upstream_.deallocate(upstream, bytes + alignment_, stream);
}

}  // namespace octavo
