#include "memory/limit_adaptor.h"

#include "base/error.h"
#include "memory/format_bytes.h"

namespace octavo {

void* LimitAdaptor::allocate(size_t bytes, Stream* stream, const Owner& owner, std::string_view tag) {
  {
    const std::lock_guard lock(mutex_);
    if (!limit_.canHold(bytes)) {
      throw Error(ErrorCode::kOutOfMemory, "asked " + formatBytes(bytes) + " for " + std::string(tag) + ", holds " +
                                               formatBytes(limit_.held()) + " of the limit " +
                                               formatBytes(limit_.limit()) + "; raise the limit or ask for less");
    }
    limit_.charge(bytes);
  }
  try {
    return upstream_.allocate(bytes, stream, owner, tag);
  } catch (...) {
    refund(bytes);
    throw;
  }
}

void LimitAdaptor::deallocate(void* data, size_t bytes, Stream* stream) noexcept {
  upstream_.deallocate(data, bytes, stream);
  refund(bytes);
}

void LimitAdaptor::setLimit(size_t bytes) {
  const std::lock_guard lock(mutex_);
  limit_.setLimit(bytes);
}

size_t LimitAdaptor::held() const {
  const std::lock_guard lock(mutex_);
  return limit_.held();
}

void LimitAdaptor::refund(size_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  limit_.refund(bytes);
}

}  // namespace octavo
