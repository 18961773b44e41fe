// What is live of a resource: address → size and owner.
#pragma once

#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "memory/memory_resource.h"

namespace octavo {

struct TrackedAllocation {
  void* data = nullptr;
  size_t bytes = 0;
  Owner owner;
  std::string tag;
};

/**
 * Passes everything on and remembers what was not given back. A deallocation that does not match (unknown address,
 * another size) is not passed on: it is kept for check().
 */
class TrackingAdaptor final : public MemoryResource {
 public:
  explicit TrackingAdaptor(MemoryResource& upstream) : upstream_(upstream) {}
  void* allocate(size_t bytes, Stream* stream, const Owner& owner, std::string_view tag) override;
  void deallocate(void* data, size_t bytes, Stream* stream) noexcept override;
  /** In order of address. */
  std::vector<TrackedAllocation> live() const;
  /** Throws kInternal, naming the first deallocation that did not match. */
  void check() const;

 private:
  MemoryResource& upstream_;
  mutable std::mutex mutex_;
  std::unordered_map<void*, TrackedAllocation> live_;
  uint64_t mismatches_ = 0;
  size_t mismatchAsked_ = 0, mismatchHeld_ = 0;  // of the first: bytes given back, bytes held there
};

}  // namespace octavo
