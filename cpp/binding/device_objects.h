// What devices of one environment have handed out and not got back.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <vector>

#include "device/device.h"

namespace octavo {

/** Thread-safe: engines open their devices on threads of their own. */
class DeviceObjects {
 public:
  /** Counted from now on, also after the device is gone. */
  void watch(const Device& device) {
    const std::lock_guard lock(mutex_);
    // Only we know it: the device is gone, and all that it had handed out.
    std::erase_if(counts_, [](const auto& counts) { return counts.use_count() == 1; });
    counts_.push_back(device.objects());
  }
  int64_t count(ObjectKind kind) const {
    const std::lock_guard lock(mutex_);
    int64_t sum = 0;
    for (const auto& counts : counts_) sum += counts->count(kind);
    return sum;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<ObjectCounts>> counts_;
};

}  // namespace octavo
