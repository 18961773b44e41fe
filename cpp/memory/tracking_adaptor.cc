#include "memory/tracking_adaptor.h"

#include <algorithm>
#include <functional>

#include "base/error.h"

namespace octavo {

void* TrackingAdaptor::allocate(size_t bytes, Stream* stream, const Owner& owner, std::string_view tag) {
  TrackedAllocation allocation{nullptr, bytes, owner, std::string(tag)};
  allocation.data = upstream_.allocate(bytes, stream, owner, tag);
  void* const data = allocation.data;
  try {
    const std::lock_guard lock(mutex_);
    live_.emplace(data, std::move(allocation));
  } catch (...) {
    upstream_.deallocate(data, bytes, stream);
    throw;
  }
  return data;
}

void TrackingAdaptor::deallocate(void* data, size_t bytes, Stream* stream) noexcept {
  {
    const std::lock_guard lock(mutex_);
    const auto found = live_.find(data);
    const size_t held = found == live_.end() ? 0 : found->second.bytes;
    if (held != bytes || held == 0) {
      if (mismatches_++ > 0) return;
      mismatchAsked_ = bytes;
      mismatchHeld_ = held;
      return;
    }
    live_.erase(found);
  }
  upstream_.deallocate(data, bytes, stream);
}

std::vector<TrackedAllocation> TrackingAdaptor::live() const {
  std::vector<TrackedAllocation> live;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [data, allocation] : live_) live.push_back(allocation);
  }
  std::sort(live.begin(), live.end(), [](const TrackedAllocation& left, const TrackedAllocation& right) {
    return std::less<void*>()(left.data, right.data);
  });
  return live;
}

void TrackingAdaptor::check() const {
  const std::lock_guard lock(mutex_);
  if (mismatches_ == 0) return;
  throw Error(ErrorCode::kInternal, std::to_string(mismatches_) + " deallocations did not match; the first gave back " +
                                        std::to_string(mismatchAsked_) + " bytes where " +
                                        std::to_string(mismatchHeld_) + " are held");
}

}  // namespace octavo
