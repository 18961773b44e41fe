#include "binding/testing/cache_handle.h"

#include "binding/arguments.h"
#include "binding/testing/block_ids.h"
#include "binding/testing/memory_handle.h"

namespace octavo::testing {

namespace {

KvCacheShape readShape(const Fields& shape) {
  return {shape.floatDType("dtype"), shape.int32("layers"), shape.int32("kvHeads"), shape.int32("blockSize"),
          shape.int32("headDim")};
}

}  // namespace

Napi::Function CacheHandle::define(Napi::Env env) {
  using C = CacheHandle;
  return DefineClass(env, "Cache",
                     {
                         method<&C::take>("take"),
                         method<&C::release>("release"),
                         method<&C::passFence>("passFence"),
                         method<&C::counts>("counts"),
                         method<&C::ownedBy>("ownedBy"),
                         method<&C::check>("check"),
                         method<&C::dispose>("dispose"),
                     });
}

CacheHandle::CacheHandle(const Napi::CallbackInfo& info) : Handle(info) {
  guarded(info.Env(), [&] {
    MemoryHandle& memory = *MemoryHandle::Unwrap(info[0].As<Napi::Object>());
    cache_ = std::make_unique<KvCache>(memory.allocator(), readShape({info[1], "shape"}),
                                       info[2].As<Napi::Number>().Int64Value());
  });
}

KvCache& CacheHandle::cache() {
  if (!cache_) throw Error(ErrorCode::kDisposed, "the cache was disposed");
  return *cache_;
}

Napi::Value CacheHandle::take(const Napi::CallbackInfo& info) {
  std::vector<BlockId> blocks;
  const int64_t count = info[2].As<Napi::Number>().Int64Value();
  if (!cache().pool().take(readOwner(info[0], info[1]), count, blocks)) return info.Env().Null();
  return toArray(info.Env(), blocks);
}

Napi::Value CacheHandle::release(const Napi::CallbackInfo& info) {
  const auto fence = static_cast<uint64_t>(info[3].As<Napi::Number>().Int64Value());
  cache().pool().release(readOwner(info[0], info[1]), toBlocks(info[2]), fence);
  return info.Env().Undefined();
}

Napi::Value CacheHandle::passFence(const Napi::CallbackInfo& info) {
  cache().pool().passFence(static_cast<uint64_t>(info[0].As<Napi::Number>().Int64Value()));
  return info.Env().Undefined();
}

Napi::Value CacheHandle::counts(const Napi::CallbackInfo& info) {
  BlockPool& pool = cache().pool();
  Napi::Object counts = Napi::Object::New(info.Env());
  counts.Set("total", static_cast<double>(pool.total()));
  counts.Set("free", static_cast<double>(pool.free()));
  counts.Set("owned", static_cast<double>(pool.owned()));
  counts.Set("inFlight", static_cast<double>(pool.inFlight()));
  counts.Set("blockBytes", static_cast<double>(pool.blockBytes()));
  return counts;
}

Napi::Value CacheHandle::ownedBy(const Napi::CallbackInfo& info) {
  const int64_t blocks = cache().pool().ownedBy(readOwner(info[0], info[1]));
  return Napi::Number::New(info.Env(), static_cast<double>(blocks));
}

Napi::Value CacheHandle::check(const Napi::CallbackInfo& info) {
  cache().pool().check();
  return info.Env().Undefined();
}

Napi::Value CacheHandle::dispose(const Napi::CallbackInfo& info) {
  cache_.reset();
  return info.Env().Undefined();
}

}  // namespace octavo::testing
