#include "binding/testing/memory_handle.h"

#include "binding/addon_data.h"
#include "binding/arguments.h"
#include "binding/memory_values.h"
#include "binding/testing/fake_device.h"

namespace octavo::testing {

namespace {

size_t bytesOf(Napi::Value value) { return static_cast<size_t>(value.As<Napi::Number>().Int64Value()); }

Napi::Value number(Napi::Env env, uint64_t value) { return Napi::Number::New(env, static_cast<double>(value)); }

/** A device by its name, or one of so many bytes that only keeps count of its streams. */
std::shared_ptr<Device> deviceOf(Napi::Value value) {
  if (value.IsString()) return openDevice(value.As<Napi::String>().Utf8Value(), 2);
  const Fields options(value, "device");
  return std::make_shared<FakeDevice>(FakeDeviceOptions{options.size("totalBytes"), true});
}

}  // namespace

Region readRegion(Napi::Value name) {
  for (int index = 0; index < kRegionCount; ++index) {
    const auto region = static_cast<Region>(index);
    if (name.IsString() && name.As<Napi::String>().Utf8Value() == regionName(region)) return region;
  }
  refuse("region", name, "the name of a region");
}

Owner readOwner(Napi::Value kind, Napi::Value id) {
  for (const OwnerKind each : {OwnerKind::kEngine, OwnerKind::kSession, OwnerKind::kRequest, OwnerKind::kAdapter,
                               OwnerKind::kGraph}) {
    if (kind.IsString() && kind.As<Napi::String>().Utf8Value() == ownerKindName(each)) {
      return {each, static_cast<uint64_t>(id.As<Napi::Number>().Int64Value())};
    }
  }
  refuse("ownerKind", kind, "the name of a kind of owner");
}

Napi::Function MemoryHandle::define(Napi::Env env) {
  using M = MemoryHandle;
  return DefineClass(env, "Memory",
                     {
                         method<&M::allocate>("allocate"),
                         method<&M::free>("free"),
                         method<&M::setLimit>("setLimit"),
                         method<&M::failAfter>("failAfter"),
                         method<&M::keepPinned>("keepPinned"),
                         method<&M::trimPinned>("trimPinned"),
                         method<&M::pinnedKept>("pinnedKept"),
                         method<&M::memoryStatistics>("memoryStatistics"),
                         method<&M::transfer>("transfer"),
                         method<&M::remove>("remove"),
                         method<&M::lines>("lines"),
                         method<&M::statistics>("statistics"),
                         method<&M::ownerBytes>("ownerBytes"),
                         method<&M::check>("check"),
                         method<&M::dispose>("dispose"),
                     });
}

MemoryHandle::MemoryHandle(const Napi::CallbackInfo& info) : Handle(info) {
  guarded(info.Env(), [&] {
    allocator_ = DeviceAllocator::create(deviceOf(info[0]));
    AddonData::of(info.Env()).objects->watch(allocator_->device());
  });
}

DeviceAllocator& MemoryHandle::allocator() {
  if (!allocator_) throw Error(ErrorCode::kDisposed, "the memory was disposed");
  return *allocator_;
}

Napi::Value MemoryHandle::allocate(const Napi::CallbackInfo& info) {
  live_.emplace(next_, allocator().allocate(readRegion(info[0]), bytesOf(info[1]), readOwner(info[2], info[3]),
                                            info[4].As<Napi::String>()));
  return number(info.Env(), next_++);
}

Napi::Value MemoryHandle::free(const Napi::CallbackInfo& info) {
  return Napi::Boolean::New(info.Env(), live_.erase(info[0].As<Napi::Number>().Uint32Value()) == 1);
}

Napi::Value MemoryHandle::setLimit(const Napi::CallbackInfo& info) {
  allocator().setLimit(readRegion(info[0]), bytesOf(info[1]));
  return info.Env().Undefined();
}

Napi::Value MemoryHandle::failAfter(const Napi::CallbackInfo& info) {
  allocator().failAfter(bytesOf(info[0]));
  return info.Env().Undefined();
}

Napi::Value MemoryHandle::keepPinned(const Napi::CallbackInfo& info) {
  allocator().keepPinned(bytesOf(info[0]));
  return info.Env().Undefined();
}

Napi::Value MemoryHandle::trimPinned(const Napi::CallbackInfo& info) {
  return number(info.Env(), allocator().trimPinned(bytesOf(info[0])));
}

Napi::Value MemoryHandle::pinnedKept(const Napi::CallbackInfo& info) {
  const PinnedKept kept = allocator().pinnedKept();
  Napi::Object object = Napi::Object::New(info.Env());
  object.Set("bytes", number(info.Env(), kept.bytes));
  object.Set("buffers", number(info.Env(), kept.buffers));
  object.Set("reuses", number(info.Env(), kept.reuses));
  return object;
}

/** Under PyTorch's names, and the figures of fragmentation that follow from them. */
Napi::Value MemoryHandle::memoryStatistics(const Napi::CallbackInfo& info) {
  const MemoryStatistics statistics = allocator().memoryStatistics(readRegion(info[0]));
  Napi::Object object = Napi::Object::New(info.Env());
  object.Set("statistics", octavo::toValue(info.Env(), statistics));
  object.Set("fragmentation", octavo::toValue(info.Env(), fragmentationOf(statistics)));
  return object;
}

Napi::Value MemoryHandle::transfer(const Napi::CallbackInfo& info) {
  allocator().ledger().transfer(readRegion(info[0]), readOwner(info[1], info[2]), info[3].As<Napi::String>(),
                                readOwner(info[4], info[5]), info[6].As<Napi::String>(), bytesOf(info[7]),
                                bytesOf(info[8]));
  return info.Env().Undefined();
}

Napi::Value MemoryHandle::remove(const Napi::CallbackInfo& info) {
  allocator().ledger().remove(readRegion(info[0]), readOwner(info[1], info[2]), info[3].As<Napi::String>(),
                              bytesOf(info[4]), bytesOf(info[5]));
  return info.Env().Undefined();
}

Napi::Value MemoryHandle::lines(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  Napi::Array lines = Napi::Array::New(env);
  for (const LedgerLine& line : allocator().ledger().lines()) {
    Napi::Object object = Napi::Object::New(env);
    object.Set("region", regionName(line.region));
    object.Set("ownerKind", ownerKindName(line.owner.kind));
    object.Set("ownerId", number(env, line.owner.id));
    object.Set("tag", line.tag);
    object.Set("bytes", number(env, line.bytes));
    object.Set("peakBytes", number(env, line.peakBytes));
    object.Set("count", number(env, line.count));
    lines.Set(lines.Length(), object);
  }
  return lines;
}

Napi::Value MemoryHandle::statistics(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const RegionStatistics statistics = allocator().statistics(readRegion(info[0]));
  Napi::Object object = Napi::Object::New(env);
  object.Set("allocatedBytes", number(env, statistics.allocatedBytes));
  object.Set("allocatedPeakBytes", number(env, statistics.allocatedPeakBytes));
  object.Set("allocations", number(env, statistics.allocations));
  object.Set("frees", number(env, statistics.frees));
  object.Set("failures", number(env, statistics.failures));
  object.Set("regionBytes", number(env, allocator().ledger().regionBytes(readRegion(info[0]))));
  object.Set("regionPeakBytes", number(env, allocator().ledger().regionPeakBytes(readRegion(info[0]))));
  object.Set("deviceBytes", number(env, allocator().device().memoryUse().processBytes.value_or(0)));
  return object;
}

Napi::Value MemoryHandle::ownerBytes(const Napi::CallbackInfo& info) {
  return number(info.Env(), allocator().ledger().ownerBytes(readOwner(info[0], info[1])));
}

Napi::Value MemoryHandle::check(const Napi::CallbackInfo& info) {
  allocator().check();
  return info.Env().Undefined();
}

/** Frees what is live; caches and models over it keep the device until they go too. */
Napi::Value MemoryHandle::dispose(const Napi::CallbackInfo& info) {
  live_.clear();
  allocator_.reset();
  return info.Env().Undefined();
}

}  // namespace octavo::testing
