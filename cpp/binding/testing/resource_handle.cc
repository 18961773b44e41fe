#include "binding/testing/resource_handle.h"

#include <utility>

#include "binding/arguments.h"
#include "binding/testing/memory_handle.h"
#include "memory/aligned_adaptor.h"
#include "memory/arena_resource.h"
#include "memory/device_resource.h"
#include "memory/retry_adaptor.h"

namespace octavo::testing {

namespace {

size_t sizeOf(Napi::Value value) { return static_cast<size_t>(value.As<Napi::Number>().Int64Value()); }

Napi::Value number(Napi::Env env, uint64_t value) { return Napi::Number::New(env, static_cast<double>(value)); }

}  // namespace

Napi::Function ResourceHandle::define(Napi::Env env) {
  using R = ResourceHandle;
  return DefineClass(env, "Resource",
                     {
                         method<&R::allocate>("allocate"),
                         method<&R::deallocate>("deallocate"),
                         method<&R::setLimit>("setLimit"),
                         method<&R::failAfter>("failAfter"),
                         method<&R::counters>("counters"),
                         method<&R::live>("live"),
                         method<&R::deviceBytes>("deviceBytes"),
                         method<&R::check>("check"),
                         method<&R::dispose>("dispose"),
                     });
}

ResourceHandle::ResourceHandle(const Napi::CallbackInfo& info) : Handle(info) {
  guarded(info.Env(), [&] {
    device_ = openDevice("cpu", 1);
    layers_.push_back(std::make_unique<DeviceResource>(*device_));
    const auto layers = info[0].As<Napi::Array>();
    for (uint32_t index = 0; index < layers.Length(); ++index) stack(layers.Get(index).As<Napi::Object>());
  });
}

void ResourceHandle::stack(Napi::Object layer) {
  const Fields options(layer, "layer");
  const std::string kind = options.text("kind");
  MemoryResource& upstream = top();
  std::unique_ptr<MemoryResource> made;
  if (kind == "arena") {
    made = std::make_unique<ArenaResource>(upstream, options.size("bytes"), Owner{}, "arena");
  } else if (kind == "limit") {
    made = std::make_unique<LimitAdaptor>(upstream, options.size("bytes"));
    limit_ = static_cast<LimitAdaptor*>(made.get());
  } else if (kind == "statistics") {
    made = std::make_unique<StatisticsAdaptor>(upstream);
    statistics_ = static_cast<StatisticsAdaptor*>(made.get());
  } else if (kind == "tracking") {
    made = std::make_unique<TrackingAdaptor>(upstream);
    tracking_ = static_cast<TrackingAdaptor*>(made.get());
  } else if (kind == "failure") {
    made = std::make_unique<FailureAdaptor>(upstream, trigger_, readRegion(options.get("region")));
  } else if (kind == "retry") {
    hoardBytes_ = options.size("bytes");
    hoard_ = upstream.allocate(hoardBytes_, nullptr, {}, "hoard");
    giveHoard_ = [this, &upstream] { return giveHoard(upstream); };
    made = std::make_unique<RetryAdaptor>(upstream, giveHoard_);
  } else if (kind == "aligned") {
    made = std::make_unique<AlignedAdaptor>(upstream, options.size("alignment"));
  } else {
    options.refuse("kind", "a kind of resource");
  }
  layers_.push_back(std::move(made));
}

bool ResourceHandle::giveHoard(MemoryResource& upstream) {
  void* const hoard = std::exchange(hoard_, nullptr);
  if (hoard) upstream.deallocate(hoard, hoardBytes_, nullptr);
  return hoard != nullptr;
}

/** allocate(bytes, ownerKind, ownerId, tag) → address */
Napi::Value ResourceHandle::allocate(const Napi::CallbackInfo& info) {
  void* const data = top().allocate(sizeOf(info[0]), nullptr, readOwner(info[1], info[2]),
                                    info[3].As<Napi::String>().Utf8Value());
  return number(info.Env(), reinterpret_cast<uintptr_t>(data));
}

Napi::Value ResourceHandle::deallocate(const Napi::CallbackInfo& info) {
  top().deallocate(reinterpret_cast<void*>(sizeOf(info[0])), sizeOf(info[1]), nullptr);
  return info.Env().Undefined();
}

Napi::Value ResourceHandle::setLimit(const Napi::CallbackInfo& info) {
  limit_->setLimit(sizeOf(info[0]));
  return info.Env().Undefined();
}

/** failAfter(n, region?) */
Napi::Value ResourceHandle::failAfter(const Napi::CallbackInfo& info) {
  if (info[1].IsString()) trigger_.arm(sizeOf(info[0]), readRegion(info[1]));
  else trigger_.arm(sizeOf(info[0]));
  return info.Env().Undefined();
}

Napi::Value ResourceHandle::counters(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const ResourceCounters counters = statistics_->counters();
  Napi::Object value = Napi::Object::New(env);
  value.Set("bytes", number(env, counters.bytes));
  value.Set("peakBytes", number(env, counters.peakBytes));
  value.Set("totalBytes", number(env, counters.totalBytes));
  value.Set("allocations", number(env, counters.allocations));
  value.Set("peakAllocations", number(env, counters.peakAllocations));
  value.Set("totalAllocations", number(env, counters.totalAllocations));
  value.Set("failures", number(env, counters.failures));
  return value;
}

Napi::Value ResourceHandle::live(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  Napi::Array live = Napi::Array::New(env);
  for (const TrackedAllocation& allocation : tracking_->live()) {
    Napi::Object value = Napi::Object::New(env);
    value.Set("address", number(env, reinterpret_cast<uintptr_t>(allocation.data)));
    value.Set("bytes", number(env, allocation.bytes));
    value.Set("ownerKind", ownerKindName(allocation.owner.kind));
    value.Set("ownerId", number(env, allocation.owner.id));
    value.Set("tag", allocation.tag);
    live.Set(live.Length(), value);
  }
  return live;
}

Napi::Value ResourceHandle::deviceBytes(const Napi::CallbackInfo& info) {
  return number(info.Env(), device_->memoryUse().processBytes.value_or(0));
}

Napi::Value ResourceHandle::check(const Napi::CallbackInfo& info) {
  if (tracking_) tracking_->check();
  return info.Env().Undefined();
}

/** The layers go, the last first; the device stays to be looked at. */
Napi::Value ResourceHandle::dispose(const Napi::CallbackInfo& info) {
  if (giveHoard_) giveHoard_();
  while (!layers_.empty()) layers_.pop_back();
  return info.Env().Undefined();
}

}  // namespace octavo::testing
