#include "memory/retry_adaptor.h"

#include "base/error.h"

namespace octavo {

void* RetryAdaptor::allocate(size_t bytes, Stream* stream, const Owner& owner, std::string_view tag) {
  try {
    return upstream_.allocate(bytes, stream, owner, tag);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kOutOfMemory || !giveBack_()) throw;
  }
  return upstream_.allocate(bytes, stream, owner, tag);
}

void RetryAdaptor::deallocate(void* data, size_t bytes, Stream* stream) noexcept {
  upstream_.deallocate(data, bytes, stream);
}

}  // namespace octavo
