// A CachingAllocator over a Memory's device, with that device's own streams.
#pragma once

#include <map>
#include <memory>

#include "binding/testing/handle.h"
#include "memory/caching_allocator.h"

namespace octavo::testing {

/** `new Workspace(memory)`; see test/helpers/memory-testing.ts for the methods. */
class WorkspaceHandle final : public Handle<WorkspaceHandle> {
 public:
  static Napi::Function define(Napi::Env env);
  explicit WorkspaceHandle(const Napi::CallbackInfo& info);

  Napi::Value stream(const Napi::CallbackInfo& info);
  Napi::Value releaseStream(const Napi::CallbackInfo& info);
  Napi::Value isBusy(const Napi::CallbackInfo& info);
  Napi::Value synchronize(const Napi::CallbackInfo& info);

  Napi::Value allocate(const Napi::CallbackInfo& info);
  Napi::Value free(const Napi::CallbackInfo& info);
  Napi::Value recordStream(const Napi::CallbackInfo& info);
  Napi::Value fill(const Napi::CallbackInfo& info);
  Napi::Value copy(const Napi::CallbackInfo& info);
  Napi::Value read(const Napi::CallbackInfo& info);

  Napi::Value trim(const Napi::CallbackInfo& info);
  Napi::Value statistics(const Napi::CallbackInfo& info);
  Napi::Value check(const Napi::CallbackInfo& info);
  Napi::Value dispose(const Napi::CallbackInfo& info);

 private:
  struct Live { void* data; size_t bytes; };
  CachingAllocator& caching();
  Device& device() { return allocator_->device(); }
  /** nullptr for null. */
  Stream* streamAt(Napi::Value number);
  Stream& realStreamAt(Napi::Value number);
  const Live& liveAt(Napi::Value number);

  std::shared_ptr<DeviceAllocator> allocator_;
  std::map<uint32_t, std::unique_ptr<Stream>> streams_;
  std::unique_ptr<CachingAllocator> caching_;
  std::map<uint32_t, Live> live_;
  uint32_t next_ = 1;
};

}  // namespace octavo::testing
