// A stack of memory resources over the CPU device, as a test orders it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "binding/testing/handle.h"
#include "memory/failure_adaptor.h"
#include "memory/limit_adaptor.h"
#include "memory/statistics_adaptor.h"
#include "memory/tracking_adaptor.h"

namespace octavo::testing {

/** `new Resource(layers)`; see test/helpers/memory-testing.ts for the methods. */
class ResourceHandle final : public Handle<ResourceHandle> {
 public:
  static Napi::Function define(Napi::Env env);
  explicit ResourceHandle(const Napi::CallbackInfo& info);

  Napi::Value allocate(const Napi::CallbackInfo& info);
  Napi::Value deallocate(const Napi::CallbackInfo& info);
  Napi::Value setLimit(const Napi::CallbackInfo& info);
  Napi::Value failAfter(const Napi::CallbackInfo& info);
  Napi::Value counters(const Napi::CallbackInfo& info);
  Napi::Value live(const Napi::CallbackInfo& info);
  Napi::Value deviceBytes(const Napi::CallbackInfo& info);
  Napi::Value check(const Napi::CallbackInfo& info);
  Napi::Value dispose(const Napi::CallbackInfo& info);

 private:
  void stack(Napi::Object layer);
  bool giveHoard(MemoryResource& upstream);
  MemoryResource& top() { return *layers_.back(); }

  std::shared_ptr<Device> device_;
  FailureTrigger trigger_;
  std::vector<std::unique_ptr<MemoryResource>> layers_;  // the base first
  LimitAdaptor* limit_ = nullptr;                        // the last of each
  StatisticsAdaptor* statistics_ = nullptr;
  TrackingAdaptor* tracking_ = nullptr;
  void* hoard_ = nullptr;                                // what a retry layer gives back when it is refused, once
  size_t hoardBytes_ = 0;
  std::function<bool()> giveHoard_;
};

}  // namespace octavo::testing
