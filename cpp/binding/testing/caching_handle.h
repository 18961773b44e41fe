// A CachingAllocator over a fake device, its streams and allocations by number.
#pragma once

#include <map>
#include <memory>

#include "binding/testing/fake_device.h"
#include "binding/testing/handle.h"
#include "memory/caching_allocator.h"

namespace octavo::testing {

/** `new Caching(options)`; see test/helpers/memory-testing.ts for the methods. */
class CachingHandle final : public Handle<CachingHandle> {
 public:
  static Napi::Function define(Napi::Env env);
  explicit CachingHandle(const Napi::CallbackInfo& info);

  Napi::Value stream(const Napi::CallbackInfo& info);
  Napi::Value enqueue(const Napi::CallbackInfo& info);
  Napi::Value advance(const Napi::CallbackInfo& info);
  Napi::Value streamState(const Napi::CallbackInfo& info);
  Napi::Value releaseStream(const Napi::CallbackInfo& info);

  Napi::Value allocate(const Napi::CallbackInfo& info);
  Napi::Value free(const Napi::CallbackInfo& info);
  Napi::Value freeAddress(const Napi::CallbackInfo& info);
  Napi::Value recordStream(const Napi::CallbackInfo& info);
  Napi::Value fill(const Napi::CallbackInfo& info);
  Napi::Value holds(const Napi::CallbackInfo& info);
  Napi::Value trim(const Napi::CallbackInfo& info);
  Napi::Value hammer(const Napi::CallbackInfo& info);

  Napi::Value createGraphPool(const Napi::CallbackInfo& info);
  Napi::Value retainGraphPool(const Napi::CallbackInfo& info);
  Napi::Value releaseGraphPool(const Napi::CallbackInfo& info);
  Napi::Value beginCapture(const Napi::CallbackInfo& info);
  Napi::Value endCapture(const Napi::CallbackInfo& info);

  Napi::Value setLimit(const Napi::CallbackInfo& info);
  Napi::Value failAfter(const Napi::CallbackInfo& info);
  Napi::Value statistics(const Napi::CallbackInfo& info);
  Napi::Value fragmentation(const Napi::CallbackInfo& info);
  Napi::Value snapshot(const Napi::CallbackInfo& info);
  Napi::Value lines(const Napi::CallbackInfo& info);
  Napi::Value deviceState(const Napi::CallbackInfo& info);
  Napi::Value check(const Napi::CallbackInfo& info);
  Napi::Value dispose(const Napi::CallbackInfo& info);

 private:
  struct Live { void* data; size_t bytes; };
  CachingAllocator& caching();
  /** nullptr for null. */
  FakeStream* streamAt(Napi::Value number);
  const Live& liveAt(Napi::Value number);

  std::shared_ptr<FakeDevice> device_;
  std::shared_ptr<DeviceAllocator> allocator_;
  std::map<uint32_t, std::unique_ptr<Stream>> streams_;
  std::unique_ptr<CachingAllocator> caching_;
  std::map<uint32_t, Live> live_;
  uint32_t next_ = 1;
};

}  // namespace octavo::testing
