// Straight from the device: the base of every stack.
#pragma once

#include "base/error.h"
#include "memory/memory_resource.h"

namespace octavo {

enum class DeviceMemoryKind : uint8_t { kDevice, kPinnedHost };

/** Every allocation is one call to the driver. The device must have finished with what is given back. */
class DeviceResource final : public MemoryResource {
 public:
  explicit DeviceResource(Device& device, DeviceMemoryKind kind = DeviceMemoryKind::kDevice)
      : device_(device), kind_(kind) {}
  void* allocate(size_t bytes, Stream* stream, const Owner& owner, std::string_view tag) override;
  void deallocate(void* data, size_t bytes, Stream* stream) noexcept override;

 private:
  Device& device_;
  DeviceMemoryKind kind_;
};

/** kOutOfMemory: what was asked of the device and what it has left. */
Error deviceExhausted(Device& device, DeviceMemoryKind kind, size_t bytes);

}  // namespace octavo
