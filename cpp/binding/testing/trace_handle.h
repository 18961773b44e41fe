// A MemoryTrace: of its own, or a Memory's.
#pragma once

#include <memory>

#include "binding/testing/handle.h"
#include "memory/allocator.h"

namespace octavo::testing {

/** `new Trace(options, memory?)`; see test/helpers/trace-testing.ts for the methods. */
class TraceHandle final : public Handle<TraceHandle> {
 public:
  static Napi::Function define(Napi::Env env);
  explicit TraceHandle(const Napi::CallbackInfo& info);

  Napi::Value setLevel(const Napi::CallbackInfo& info);
  Napi::Value allocated(const Napi::CallbackInfo& info);
  Napi::Value freeRequested(const Napi::CallbackInfo& info);
  Napi::Value freeCompleted(const Napi::CallbackInfo& info);
  Napi::Value segmentMapped(const Napi::CallbackInfo& info);
  Napi::Value segmentUnmapped(const Napi::CallbackInfo& info);
  Napi::Value transferred(const Napi::CallbackInfo& info);
  Napi::Value outOfMemory(const Napi::CallbackInfo& info);
  Napi::Value ownerEnded(const Napi::CallbackInfo& info);
  Napi::Value snapshot(const Napi::CallbackInfo& info);
  Napi::Value leaks(const Napi::CallbackInfo& info);
  Napi::Value hammer(const Napi::CallbackInfo& info);
  Napi::Value cost(const Napi::CallbackInfo& info);
  Napi::Value check(const Napi::CallbackInfo& info);
  Napi::Value dispose(const Napi::CallbackInfo& info);

 private:
  MemoryTrace& trace();

  std::shared_ptr<DeviceAllocator> allocator_;
  std::unique_ptr<MemoryTrace> own_;
};

}  // namespace octavo::testing
