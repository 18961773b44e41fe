#include "memory/device_resource.h"

#include "memory/format_bytes.h"

namespace octavo {

namespace {

/** What the device says it has left; allocation errors must not hide behind a second failure. */
std::string freeOnDevice(Device& device) {
  try {
    const DeviceMemoryUse use = device.memoryUse();
    return formatBytes(use.freeBytes) + " free of " + formatBytes(use.totalBytes);
  } catch (const std::exception& error) {
    return std::string("unknown memory left (") + error.what() + ")";
  }
}

}  // namespace

void* DeviceResource::allocate(size_t bytes, Stream*, const Owner&, std::string_view tag) {
  if (bytes == 0) {
    throw Error(ErrorCode::kInvalidArgument, "asked 0 bytes for " + std::string(tag) + "; ask at least 1");
  }
  void* const data = kind_ == DeviceMemoryKind::kPinnedHost ? device_.allocatePinnedRaw(bytes)
                                                            : device_.allocateRaw(bytes);
  if (data) return data;
  throw deviceExhausted(device_, kind_, bytes);
}

void DeviceResource::deallocate(void* data, size_t bytes, Stream*) noexcept {
  if (kind_ == DeviceMemoryKind::kPinnedHost) {
    device_.freePinnedRaw(data, bytes);
  } else {
    device_.freeRaw(data, bytes);
  }
}

Error deviceExhausted(Device& device, DeviceMemoryKind kind, size_t bytes) {
  const std::string what = kind == DeviceMemoryKind::kPinnedHost ? "page-locked host memory for " : "memory of ";
  return {ErrorCode::kOutOfMemory, "asked " + formatBytes(bytes) + " of " + what + device.info().id + " (" +
                                       device.info().name + "), which has " + freeOnDevice(device) +
                                       "; close what else uses the device, or ask for less"};
}

}  // namespace octavo
