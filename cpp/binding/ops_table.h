// The devices and buffers that the low-level SDK of one environment has open, by handle.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "binding/device_objects.h"
#include "memory/caching_allocator.h"
#include "memory/resource_allocation.h"
#include "ops/ops.h"

namespace octavo {

/** Numbers in JavaScript; never used twice, so that a stale one is found out. */
using Handle = int64_t;

/** A device opened through the SDK: its allocator, the one stream all calls of its user go to, its cached memory. */
struct OpenDevice {
  Handle handle = 0;
  std::shared_ptr<DeviceAllocator> allocator;
  std::unique_ptr<Stream> stream;
  std::unique_ptr<CachingAllocator> workspace;

  Device& device() const { return allocator->device(); }
  Ops& ops() const { return allocator->device().ops(); }
  /** Stream-ordered memory of region workspace, owned by this device. Throws kOutOfMemory, kInvalidArgument. */
  ResourceAllocation allocate(size_t bytes, const std::string& tag) {
    return {*workspace, bytes, stream.get(), {OwnerKind::kEngine, static_cast<uint64_t>(handle)}, tag};
  }
};

struct Buffer {
  std::shared_ptr<OpenDevice> device;
  ResourceAllocation memory;
  size_t bytes = 0;  // as asked for
};

/** JS thread only. Whatever is still open is released with the table. */
class OpsTable {
 public:
  explicit OpsTable(std::shared_ptr<DeviceObjects> objects) : objects_(std::move(objects)) {}
  ~OpsTable();
  OpsTable(const OpsTable&) = delete;
  OpsTable& operator=(const OpsTable&) = delete;

  /** Throws what openDevice throws. */
  Handle open(const std::string& id, int threads);
  /** Releases the device and every buffer on it. Unknown handles are fine: false. */
  bool close(Handle device);
  /** Throws kDisposed. */
  OpenDevice& device(Handle device) const;

  /** Contents undefined. Throws kDisposed, kOutOfMemory, kInvalidArgument. */
  Handle createBuffer(Handle device, size_t bytes, const std::string& tag);
  /** Waits for the device's work. The last buffer of a device takes the cache with it. Unknown handles: false. */
  bool destroyBuffer(Handle buffer);
  /** Throws kDisposed. */
  const Buffer& buffer(Handle buffer) const;

  size_t devices() const { return devices_.size(); }
  size_t buffers() const { return buffers_.size(); }

 private:
  std::shared_ptr<DeviceObjects> objects_;
  std::map<Handle, std::shared_ptr<OpenDevice>> devices_;
  std::map<Handle, Buffer> buffers_;
  Handle next_ = 1;
};

}  // namespace octavo
