#include "memory/failure_adaptor.h"

#include "base/error.h"
#include "memory/format_bytes.h"

namespace octavo {

void* FailureAdaptor::allocate(size_t bytes, Stream* stream, const Owner& owner, std::string_view tag) {
  if (!trigger_.pull(region_)) return upstream_.allocate(bytes, stream, owner, tag);
  throw Error(ErrorCode::kOutOfMemory, "asked " + formatBytes(bytes) + " for " + std::string(tag) +
                                           "; a test made this allocation fail");
}

void FailureAdaptor::deallocate(void* data, size_t bytes, Stream* stream) noexcept {
  upstream_.deallocate(data, bytes, stream);
}

}  // namespace octavo
