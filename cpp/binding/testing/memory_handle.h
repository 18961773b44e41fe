// A DeviceAllocator and its live allocations by number.
#pragma once

#include <map>
#include <memory>

#include "binding/testing/handle.h"
#include "memory/allocator.h"

namespace octavo::testing {

/** `new Memory(device)`; see test/helpers/testing.ts for the methods. */
class MemoryHandle final : public Handle<MemoryHandle> {
 public:
  static Napi::Function define(Napi::Env env);
  explicit MemoryHandle(const Napi::CallbackInfo& info);

  /** Throws kDisposed. */
  DeviceAllocator& allocator();

  Napi::Value allocate(const Napi::CallbackInfo& info);
  Napi::Value free(const Napi::CallbackInfo& info);
  Napi::Value setLimit(const Napi::CallbackInfo& info);
  Napi::Value failAfter(const Napi::CallbackInfo& info);
  Napi::Value keepPinned(const Napi::CallbackInfo& info);
  Napi::Value trimPinned(const Napi::CallbackInfo& info);
  Napi::Value pinnedKept(const Napi::CallbackInfo& info);
  Napi::Value memoryStatistics(const Napi::CallbackInfo& info);
  Napi::Value transfer(const Napi::CallbackInfo& info);
  Napi::Value remove(const Napi::CallbackInfo& info);
  Napi::Value lines(const Napi::CallbackInfo& info);
  Napi::Value statistics(const Napi::CallbackInfo& info);
  Napi::Value ownerBytes(const Napi::CallbackInfo& info);
  Napi::Value check(const Napi::CallbackInfo& info);
  Napi::Value dispose(const Napi::CallbackInfo& info);

 private:
  std::shared_ptr<DeviceAllocator> allocator_;
  std::map<uint32_t, Allocation> live_;
  uint32_t next_ = 1;
};

Owner readOwner(Napi::Value kind, Napi::Value id);
Region readRegion(Napi::Value name);

}  // namespace octavo::testing
