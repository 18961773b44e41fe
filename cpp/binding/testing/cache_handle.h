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
  Napi::Value ownedBy(const Napi::CallbackInfo& info);
  Napi::Value check(const Napi::CallbackInfo& info);
  Napi::Value dispose(const Napi::CallbackInfo& info);

 private:
  std::unique_ptr<KvCache> cache_;
};

}  // namespace octavo::testing
