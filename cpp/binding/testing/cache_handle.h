// A KvCache and its block pool.
#pragma once

#include <memory>

#include "binding/testing/handle.h"
#include "kv/kv_cache.h"

namespace octavo::testing {

/** `new Cache(memory, shape, blocks)`; see test/helpers/testing.ts for the methods. */
class CacheHandle final : public Handle<CacheHandle> {
 public:
  static Napi::Function define(Napi::Env env);
  explicit CacheHandle(const Napi::CallbackInfo& info);

  KvCache& cache();

  Napi::Value take(const Napi::CallbackInfo& info);
  Napi::Value release(const Napi::CallbackInfo& info);
  Napi::Value passFence(const Napi::CallbackInfo& info);
  Napi::Value counts(const Napi::CallbackInfo& info);
  Napi::Value write(const Napi::CallbackInfo& info);
  Napi::Value read(const Napi::CallbackInfo& info);
  Napi::Value compact(const Napi::CallbackInfo& info);
  Napi::Value trim(const Napi::CallbackInfo& info);
  Napi::Value pages(const Napi::CallbackInfo& info);
  Napi::Value raiseCapacity(const Napi::CallbackInfo& info);
  Napi::Value ownedBy(const Napi::CallbackInfo& info);
  Napi::Value check(const Napi::CallbackInfo& info);
  Napi::Value dispose(const Napi::CallbackInfo& info);

 private:
  void requireBlock(size_t bytes);
  Stream& stream();

  std::shared_ptr<DeviceAllocator> allocator_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<KvCache> cache_;
};

}  // namespace octavo::testing
