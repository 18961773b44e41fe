// Failures on purpose, for the sweeps: fail the n-th allocation, for every n.
#pragma once

#include <atomic>
#include <optional>

#include "memory/memory_resource.h"

namespace octavo {

/** Counts allocations down; several adaptors and page ranges may share one. Thread-safe. */
class FailureTrigger {
 public:
  /** The n-th allocation from now (1 = next), of that region if one is named, is to fail; 0 disarms. */
  void arm(uint64_t allocations, std::optional<Region> only = {}) {
    only_ = only ? static_cast<int>(*only) : kAny;
    left_ = allocations;
  }
  /** True for the chosen allocation, once; counts one. */
  bool pull(Region region) {
    const int only = only_;
    if (only != kAny && only != static_cast<int>(region)) return false;
    uint64_t left = left_;
    while (left > 0 && !left_.compare_exchange_weak(left, left - 1)) continue;
    return left == 1;
  }

 private:
  static constexpr int kAny = -1;
  std::atomic<uint64_t> left_{0};
  std::atomic<int> only_{kAny};
};

/** Throws kOutOfMemory instead of asking upstream when the trigger says so. */
class FailureAdaptor final : public MemoryResource {
 public:
  /** Allocations count as ones of `region`. */
  FailureAdaptor(MemoryResource& upstream, FailureTrigger& trigger, Region region)
      : upstream_(upstream), trigger_(trigger), region_(region) {}
  void* allocate(size_t bytes, Stream* stream, const Owner& owner, std::string_view tag) override;
  void deallocate(void* data, size_t bytes, Stream* stream) noexcept override;

 private:
  MemoryResource& upstream_;
  FailureTrigger& trigger_;
  Region region_;
};

}  // namespace octavo
